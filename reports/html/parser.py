"""The parser as a tree of rules, and the grammar of a request in the forms that engines take."""

from __future__ import annotations

import json
from collections.abc import Sequence

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.overview.portrait import GrammarForms
from autoparser.reports.grammar import grammar_rows, turn_expression
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import definitions, lead, opening
from .signs import inline, whole
from .styled import styled

__all__ = ["grammar", "parser"]


def parser(analysis: LearntFormat) -> Element:
    """Draw the tree of rules by which a model's output is read."""
    rows = [
        h(
            "div",
            h("dt", rule.strip(), class_=f"depth-{(len(rule) - len(rule.lstrip())) // 2}"),
            h("dd", styled(text)),
        )
        for rule, text in grammar_rows(turn_expression(analysis))
    ]
    return fragment(
        lead(
            "How a model's output is read: ",
            h("code", "a b"),
            " is a then b, ",
            h("code", "a / b"),
            " a or else b, ",
            h("code", "?"),
            " makes optional, ",
            h("code", "*"),
            " repeats. Literals are as the template writes them; the reader forgives whitespace at"
            " their edges.",
        ),
        h("dl", rows, class_="rules"),
    )


def grammar(made: GrammarForms, tools: Sequence[Tool]) -> Element:
    """Show what the example request, which offers these tools, lets a model write."""
    offered = json.dumps(list(tools), indent=2, ensure_ascii=False)
    names = ", ".join(str(tool.get("name")) for tool in tools) or "no tool"
    pairs: list[tuple[Node, Node]] = [
        ("Tools", visible(names)),
        ("Triggers", _texts(made.triggers, "none: nothing begins a call")),
        ("Tokens to keep", _texts(made.preserved_tokens, "none")),
        ("Stop strings", _texts(made.stop_strings, "none: nothing closes a turn")),
        *((f"Not as {name}", visible(reason)) for name, reason in made.refusals.items()),
    ]
    return fragment(
        lead(
            "What a request with these tools lets a model write: what the template would write, and"
            " nothing else."
        ),
        definitions(pairs),
        [
            opening(h("b", name), whole(text, name), printed=False)
            for name, text in made.forms.items()
        ],
        opening(
            "The tools of the request",
            whole(offered, "The tools of the request"),
            printed=False,
        ),
    )


def _texts(texts: tuple[str, ...], none: str) -> Node:
    if not texts:
        return none
    return h("ul", [h("li", inline(text)) for text in texts], class_="texts")
