"""Tools that are offered and not described in the prompt, or only in part.

A template that writes `(tools or [])[:1]` describes one of three tools in the conversations:

    <tool>{"type": "function", "function": {"name": "get_weather", …}}</tool><|user|>What is…
    not all tools are described in 'a question with tools'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from autoparser.analysis.core.conversation import Tool, tool_for
from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.learning.prober import Sentinels
from autoparser.analysis.lint.conversation_matrix import PlayedConversation
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.hit_words import list_words, quote_text, raising_hit
from autoparser.analysis.lint.lint_renders import (
    Render,
    compare_renders,
    line_of_the_lost,
    parting_line,
    show_render,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_offer
from autoparser.analysis.lint.subject import Subject


@rule("AP530")
def check(subject: Subject) -> Iterator[Hit]:
    """Search every prompt that offers tools for the names of those that no message calls."""
    offering = [
        played
        for played in subject.wide_matrix
        if played.conversation.tools
        and not played.conversation.other_form
        and played.render.rendered
    ]
    # A loss that cannot be intended is reported before one that may be.
    ordered = sorted(offering, key=_is_excused)
    names = subject.marks.names
    partly = next(
        (played for played in ordered if _tool_share(played, names) == _ToolShare.SOME), None
    )
    if partly is not None:
        yield partly.hit(
            f"not all tools are described in '{partly.name}'",
            next(filter(None, map(partly.render.line_of, names)), None),
            severity=Severity.WARNING if _is_excused(partly) else None,
        )
    # A switch may exist to omit all tools.
    usual = [played for played in ordered if not played.conversation.setting]
    none = next((played for played in usual if _tool_share(played, names) == _ToolShare.NONE), None)
    kept = none and none.nearest(
        ordered, lambda played: _tool_share(played, names) == _ToolShare.ALL
    )
    if none is not None and kept is not None and not _told_as_usual(subject, none):
        meant = _is_excused(none)
        yield Hit(
            f"no tools are described in '{none.name}', but all in '{kept.name}'",
            none.against(kept),
            line=line_of_the_lost(none.render, kept.render, names[0]),
            severity=Severity.WARNING if meant else None,
            setting=none.conversation.setting,
            confidence=Confidence.MEDIUM if meant else None,
        )
    if subject.shape.tools is not ToolForm.NONE:
        yield from _many_tool_hits(subject)


def _told_as_usual(subject: Subject, played_chat: PlayedConversation) -> bool:
    """Return whether tools in OpenAI's form are all written, unlike those in the template's own."""
    usual = subject.play_as(
        played_chat.conversation, structs.replace(subject.shape, tools=ToolForm.WRAPPED)
    )
    return _tool_share(replace(played_chat, render=usual), subject.marks.names) == _ToolShare.ALL


_LETTERS = "bcdfghjklmnpqrstvwx"
_PROSE = "It looks up what is known of a place, and answers in one sentence. " * 5
"""The text before the test character of a description, so that truncation shows."""
_NAME_SIZE = 70
"""Longer than the 64 characters of OpenAI's function names: tool servers add prefixes."""
_BEGINNING = 40
"""The number of characters that prove a description is written."""


def _many_tool_hits(subject: Subject) -> Iterator[Hit]:
    """Render twenty tools, one with an unusual name and two lines; if any is lost, fewer."""
    marks = subject.marks
    plain = [
        _function(marks, f"{marks.names[at % 3]}{letter}", letter)
        for at, letter in enumerate(_LETTERS)
    ]
    name = f"{marks.names[1].capitalize()}-{marks.names[2]}_2"
    unusual = _function(marks, name.ljust(_NAME_SIZE, marks.names[0][-1]), "z")
    described = _signs(unusual)["description"]
    two_lines = {**unusual, "description": f"{described}\n{marks.content}"}
    # One render shows for most templates that nothing is lost; only the others need more.
    every = render_offer(subject, *plain, two_lines)
    if every.rendered and not _missing_parts(every, [*plain, unusual]):
        yield from _second_line(every, described, marks.content)
        return
    single = render_offer(subject, plain[0])
    never = _missing_parts(single, plain[:1])
    # The checks of conversations report a template that omits tools altogether.
    if not single.rendered or "name" in never:
        return
    described = _signs(plain[0])["description"]
    if "description" in never and described[:_BEGINNING] in single.text:
        yield Hit(
            f"a tool description of {len(described)} characters is truncated",
            (show_render(single, "a tool with a long description"),),
            line=single.line_of(described[:_BEGINNING]),
            fix="render the whole description of each tool",
            severity=Severity.WARNING,
        )
    most = render_offer(subject, *plain)
    if most.error is not None or {*_missing_parts(most, plain)} - {*never}:
        yield from _first_too_many(subject, plain, single, never)
        return
    render = render_offer(subject, unusual)
    evidence = (
        compare_renders(render, "a tool with this name", single, "a tool with a plain name"),
    )
    name = str(unusual["name"])
    if render.rendered and name not in render.text:
        cut = name[: _NAME_SIZE // 2] in render.text
        yield Hit(
            f"a tool name of {_NAME_SIZE} characters is truncated"
            if cut
            else "a tool name with a capital, a hyphen, an underscore and a digit is altered:"
            f" {name}",
            evidence,
            line=render.line_of(_signs(unusual)["description"]),
            fix="render the name of each tool unchanged",
        )


def _first_too_many(
    subject: Subject, plain: Sequence[Tool], single: Render, never: Sequence[str]
) -> Iterator[Hit]:
    """Return a hit with the number of tools that is too many."""
    fewer = single
    for count in range(2, len(plain) + 1):
        render = render_offer(subject, *plain[:count])
        labels = (render, f"{count} tools"), (fewer, f"{count - 1} tools")
        if render.error is not None:
            message = f"fails on requests with {count} tools: {render.reason}"
            yield raising_hit(message, *labels, refused=Severity.WARNING)
            return
        lost = [part for part in _missing_parts(render, plain[:count]) if part not in never]
        if lost:
            yield Hit(
                f"with {count} tools some lack their {list_words(lost)}, with {count - 1} none",
                (compare_renders(*labels[0], *labels[1]),),
                line=parting_line(render, fewer),
                severity=None if "name" in lost else Severity.WARNING,
            )
            return
        fewer = render


_WORD = re.compile(r"\w")


def _second_line(render: Render, first: str, second: str) -> Iterator[Hit]:
    """Report a description's second line if it is lost, or outside the first one's comment.

    A comment begins with a sign with which no later line ends: ``// Do this.`` is one, a text in
    triple quotes is not.
    """
    start = render.text.find(first)
    before = render.text[:start].rpartition("\n")[2]
    lead, below = before.strip(), f"{first}\n{second}"
    later = render.text[start + len(below) :].splitlines()
    closed = any(line.rstrip().endswith(lead) for line in later)
    if second not in render.text:
        words, fix = "is not rendered", "render every line of a tool's description"
    elif lead and not _WORD.search(lead) and not closed and below in render.text:
        words = f"lacks the {quote_text(before)} before the first"
        fix = f"begin every line of a tool's description with {quote_text(before)}"
    else:
        return
    yield Hit(
        f"the second line of a tool's description {words}",
        (show_render(render, "a tool whose description has two lines"),),
        line=render.line_of(first),
        fix=fix,
        severity=Severity.WARNING,
    )


def _function(marks: Sentinels, name: str, letter: str) -> Tool:
    key, sign = f"{marks.keys[0]}{letter}", f"{marks.values[2]}{letter}"
    return {**tool_for(name, "A word.", {key: "string"}), "description": f"{_PROSE}{sign}."}


def _signs(function: Tool) -> dict[str, str]:
    """Return a recognizable text for each part of a tool."""
    parameters: Any = function["parameters"]
    return {
        "name": str(function["name"]),
        "description": str(function["description"]),
        "parameters": str(parameters["required"][0]),
    }


def _missing_parts(render: Render, functions: Sequence[Tool]) -> list[str]:
    """Return the parts of tools that are missing from the prompt for at least one tool."""
    signs = [_signs(function) for function in functions]
    parts = signs[0] if render.rendered else ()
    return [part for part in parts if any(sign[part] not in render.text for sign in signs)]


def _is_excused(played_chat: PlayedConversation) -> bool:
    """Return whether a loss may be intended: by a switch, or because no answer is requested."""
    return bool(played_chat.conversation.setting) or not played_chat.conversation.generation


class _ToolShare:
    ALL, SOME, NONE = range(3)


def _tool_share(played_chat: PlayedConversation, names: Sequence[str]) -> int:
    """Return the share of uncalled tools that are described: all, some or none."""
    called = {
        spoken.call.name for spoken in played_chat.conversation.spoken if spoken.call is not None
    }
    # A call has its tool's name, too, so that name does not show a description.
    described = [name in played_chat.render.text for name in names if name not in called]
    if not any(described):
        return _ToolShare.NONE
    return _ToolShare.ALL if all(described) else _ToolShare.SOME
