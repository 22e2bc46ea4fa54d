"""Of the tools that are offered, not all are described, or not in every conversation.

The model cannot call what it has not been told of. It calls another tool, or makes one up.

Before:

    {%- if tools %}{{- tools[0] | tojson }}{%- endif %}

After:

    {%- for tool in tools or [] %}{{- tool | tojson }}{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.lint_renders import alone, compared
from autoparser.analysis.lint.parting_line import line_of_the_lost
from autoparser.analysis.lint.played_conversation import PlayedConversation
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for the names of tools that no message calls in every prompt that offers them."""
    offering = [
        each
        for each in subject.matrix
        if each.conversation.tools and not each.conversation.other_form and each.render.rendered
    ]
    ordered = sorted(offering, key=_excused)
    names = subject.marks.names
    partly = next((each for each in ordered if _told(each, names) == _Told.SOME), None)
    if partly is not None:
        yield Hit(
            f"not all tools are described to the model in '{partly.name}'",
            (alone(partly.render, partly.name),),
            line=next(filter(None, map(partly.render.line_of, names)), None),
            severity=Severity.WARNING if _excused(partly) else None,
            setting=partly.conversation.setting,
        )
    none = next((each for each in ordered if _told(each, names) == _Told.NONE), None)
    kept = none and none.nearest(ordered, lambda each: _told(each, names) == _Told.ALL)
    if none is not None and kept is not None:
        meant = _excused(none)
        yield Hit(
            f"the model is told of no tools in '{none.name}', and of all in '{kept.name}'",
            (compared(none.render, none.name, kept.render, kept.name),),
            line=line_of_the_lost(none.render, kept.render, names[0]),
            severity=Severity.WARNING if meant else None,
            setting=none.conversation.setting,
            confidence=Confidence.MEDIUM if meant else None,
        )


def _excused(played: PlayedConversation) -> bool:
    """Whether it may be meant: by a switch, or because the model is asked nothing."""
    return bool(played.conversation.setting) or not played.conversation.generation


class _Told:
    ALL, SOME, NONE = range(3)


def _told(played: PlayedConversation, names: Sequence[str]) -> int:
    """Say how many of the tools are described, of those that no message calls."""
    called = {each.call.name for each in played.conversation.spoken if each.call is not None}
    told = [name in played.render.text for name in names if name not in called]
    if not any(told):
        return _Told.NONE
    return _Told.ALL if all(told) else _Told.SOME


RULE = Rule(
    "AP530",
    "tool-left-out",
    __doc__,
    Severity.ERROR,
    check,
    fix="describe every tool, whatever the conversation",
)
