"""A request's grammar in every form, and why a form cannot say it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.learnt import LearntFormat
from autoparser.analysis.loading.tokens import OpaqueTokens


@dataclass(frozen=True, slots=True)
class GrammarForms:
    """What a request lets a model write, as the texts that engines take."""

    forms: Mapping[str, str]
    """GBNF, Lark and a structural tag, by their names; a form that cannot be written is not in."""
    refusals: Mapping[str, str]
    """Why the others cannot be written."""
    triggers: tuple[str, ...]
    preserved_tokens: tuple[str, ...]
    stop_strings: tuple[str, ...]


def written_grammar(
    analysis: LearntFormat, tools: Sequence[Tool], opaque: OpaqueTokens | None = None
) -> GrammarForms:
    """Write the grammar of a request that offers these tools.

    Lark is made for a tokenizer with `opaque` tokens; without any every marker in it is text.
    """
    try:
        grammar = analysis.grammar(list(tools))
    except AutoparserError as error:
        return GrammarForms({}, {"any form": str(error)}, (), (), analysis.format.stop_strings)
    return _in_every_form(grammar, opaque or OpaqueTokens())


def _in_every_form(grammar: Grammar, opaque: OpaqueTokens) -> GrammarForms:
    writers: dict[str, Callable[[], str]] = {
        "GBNF": grammar.gbnf,
        "Lark": lambda: grammar.lark(opaque),
        "structural tag": lambda: json.dumps(
            grammar.structural_tag(), indent=2, ensure_ascii=False
        ),
    }
    forms: dict[str, str] = {}
    refusals: dict[str, str] = {}
    for name, write in writers.items():
        try:
            forms[name] = write()
        except AutoparserError as error:
            refusals[name] = str(error)
    return GrammarForms(
        forms, refusals, grammar.triggers, grammar.preserved_tokens, grammar.stop_strings
    )
