"""Reasoning that a template never writes, but cuts out of the content it is given."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.inference.probing import Probe, Suggestions

from .observer import Observer

_SHORTEST, _LONGEST = 3, 60


@dataclass(frozen=True, slots=True)
class Cut:
    """A text up to which, itself included, the content is lost."""

    text: str
    kept: Probe
    """The render in which what stood before the text is gone."""


def find_cut(observer: Observer, suggestions: Suggestions) -> Cut | None:
    """Try the template's own text constants inside a content; renders decide."""
    constants = [
        text
        for text in suggestions.constants
        if _SHORTEST <= len(text.strip()) <= _LONGEST and not text.strip().isalnum()
    ]
    if not constants:
        return None
    marks = observer.prober.sentinels
    mixed = marks.content + "".join(constant + marks.content for constant in constants)
    turn = observer.turn(Message(mixed))
    if turn.refusal or turn.text.count(marks.content) == len(constants) + 1:
        return None
    for constant in sorted(constants, key=len):
        cut = observer.turn(Message(f"{marks.reasoning}{constant}{marks.content}"))
        if marks.content in cut.text and marks.reasoning not in cut.text:
            return Cut(constant.strip(), cut.probe)
    return None
