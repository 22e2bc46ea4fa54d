from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from autoparser.analysis.core.conversation import Tool, tool_for
from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.learning.prober import Sentinels
from autoparser.analysis.lint.conversation_matrix import PlayedConversation
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.lint_renders import (
    Render,
    compare_renders,
    line_of_the_lost,
    list_words,
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
        each
        for each in subject.matrix
        if each.conversation.tools and not each.conversation.other_form and each.render.rendered
    ]
    ordered = sorted(offering, key=_is_excused)
    names = subject.marks.names
    partly = next((each for each in ordered if _tool_share(each, names) == _ToolShare.SOME), None)
    if partly is not None:
        yield partly.hit(
            f"not all tools are described to the model in '{partly.name}'",
            next(filter(None, map(partly.render.line_of, names)), None),
            severity=Severity.WARNING if _is_excused(partly) else None,
        )
    # A value of a switch under which no tool is written at all is there for that.
    usual = [each for each in ordered if not each.conversation.setting]
    none = next((each for each in usual if _tool_share(each, names) == _ToolShare.NONE), None)
    kept = none and none.nearest(ordered, lambda each: _tool_share(each, names) == _ToolShare.ALL)
    if none is not None and kept is not None and not _told_as_usual(subject, none):
        meant = _is_excused(none)
        yield Hit(
            f"the model is told of no tools in '{none.name}', and of all in '{kept.name}'",
            none.against(kept),
            line=line_of_the_lost(none.render, kept.render, names[0]),
            severity=Severity.WARNING if meant else None,
            setting=none.conversation.setting,
            confidence=Confidence.MEDIUM if meant else None,
        )
    if subject.shape.tools is not ToolForm.NONE:
        yield from _of_many(subject)


def _told_as_usual(subject: Subject, played_chat: PlayedConversation) -> bool:
    """Whether tools in the form that users send are all written, which the template's own hides."""
    usual = subject.play_as(
        played_chat.conversation, structs.replace(subject.shape, tools=ToolForm.WRAPPED)
    )
    return _tool_share(replace(played_chat, render=usual), subject.marks.names) == _ToolShare.ALL


_LETTERS = "bcdfghj"
_PROSE = "It looks up what is known of a place, and answers in one sentence. " * 5
"""What stands before the sign in a description, so that one which is cut shows it."""
_BEGINNING = 40
"""So many characters show that a description is written at all."""


def _of_many(subject: Subject) -> Iterator[Hit]:
    """Render eight tools, one of them with an unusual name; if not all are written, fewer."""
    marks = subject.marks
    plain = [
        _function(marks, f"{marks.names[at % 3]}{letter}", letter)
        for at, letter in enumerate(_LETTERS)
    ]
    unusual = _function(marks, f"{marks.names[1].capitalize()}-{marks.names[2]}_2", "k")
    every = render_offer(subject, *plain, unusual)
    if not _missing_parts(every, [*plain, unusual]):
        return
    single = render_offer(subject, plain[0])
    never = _missing_parts(single, plain[:1])
    if "name" in never:
        return
    described = _signs(plain[0])["description"]
    if "description" in never and described[:_BEGINNING] in single.text:
        yield Hit(
            f"the description of a tool is cut, which has {len(described)} characters",
            (show_render(single, "a tool with a long description"),),
            line=single.line_of(described[:_BEGINNING]),
            severity=Severity.WARNING,
        )
    fewer = single
    for count in range(2, len(plain) + 1):
        render = render_offer(subject, *plain[:count])
        lost = [each for each in _missing_parts(render, plain[:count]) if each not in never]
        if lost:
            yield Hit(
                f"of {count} tools {list_words(lost)} are not all written, of {count - 1} they are",
                (compare_renders(render, f"{count} tools", fewer, f"{count - 1} tools"),),
                line=parting_line(render, fewer),
                severity=None if "name" in lost else Severity.WARNING,
            )
            return
        fewer = render
    render = render_offer(subject, unusual)
    if "name" in _missing_parts(render, [unusual]):
        yield Hit(
            "a tool's name with a capital, a hyphen, an underscore and a digit is not written as"
            f" it is given: {unusual['name']}",
            (
                compare_renders(
                    render, "a tool with such a name", single, "a tool with a plain name"
                ),
            ),
            line=render.line_of(_signs(unusual)["description"]),
        )


def _function(marks: Sentinels, name: str, letter: str) -> Tool:
    key, sign = f"{marks.keys[0]}{letter}", f"{marks.values[2]}{letter}"
    return {**tool_for(name, "A word.", {key: "string"}), "description": f"{_PROSE}{sign}."}


def _signs(function: Tool) -> dict[str, str]:
    """Return a text for each part of a tool by which the part is recognized."""
    parameters: Any = function["parameters"]
    return {
        "name": str(function["name"]),
        "description": str(function["description"]),
        "parameters": str(parameters["required"][0]),
    }


def _missing_parts(render: Render, functions: Sequence[Tool]) -> list[str]:
    """Return the parts of tools of which one at least is not in the prompt."""
    signs = [_signs(each) for each in functions]
    parts = signs[0] if render.rendered else ()
    return [part for part in parts if any(each[part] not in render.text for each in signs)]


def _is_excused(played_chat: PlayedConversation) -> bool:
    """Whether a loss may be intended: by a switch, or because the model is asked nothing."""
    return bool(played_chat.conversation.setting) or not played_chat.conversation.generation


class _ToolShare:
    ALL, SOME, NONE = range(3)


def _tool_share(played_chat: PlayedConversation, names: Sequence[str]) -> int:
    """Return whether all tools that no message calls are described, some or none."""
    called = {each.call.name for each in played_chat.conversation.spoken if each.call is not None}
    described = [name in played_chat.render.text for name in names if name not in called]
    if not any(described):
        return _ToolShare.NONE
    return _ToolShare.ALL if all(described) else _ToolShare.SOME
