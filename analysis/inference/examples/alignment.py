"""An output held against its message: which of its characters are whose, all others are literals.

The names, ids, keys and values of a message are what sentinels are to a render. They are looked for
in the order that a hypothesis says; the first complete row of places counts. With a name, then the
arguments one by one, `<call>look(city="Oslo")</call>` is

    '<call>'  NAME  '('  KEY  '="'  VALUE  '")</call>'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format import Edges, Escape, Part, Slot, Strip
from autoparser.analysis.core.schema import JsonType, type_of

from .wording import WordSpan, decoded_objects, decoded_strings, found, value_texts

__all__ = ["AlignedExample", "ArgumentStyle", "Hypothesis", "Mark", "align"]


class ArgumentStyle(NamedTuple):
    """How the arguments of a call are looked for."""

    whole: bool = False
    """As one value, an object."""
    encoded: bool = False
    """As one value, inside a JSON string."""
    escape: Escape = Escape.VERBATIM
    """One by one, and strings so."""


_VERBATIM = ArgumentStyle()


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What is looked for in a call, and in which order."""

    fields: tuple[Slot, ...]
    style: ArgumentStyle


@dataclass(frozen=True, slots=True)
class Mark:
    """A place that a message fills."""

    what: Part | Slot
    start: int
    end: int
    call: int = 0
    kind: JsonType | None = None
    """Of a value: its type."""
    value: Json = None
    """Of a value: it."""
    edges: Edges = field(default_factory=Edges)
    """Of content and reasoning: what of its whitespace is not there."""


@dataclass(frozen=True, slots=True)
class AlignedExample:
    """A turn's text with all its places."""

    text: str
    message: Message
    parts: tuple[Part, ...]
    marks: tuple[Mark, ...]
    style: ArgumentStyle = _VERBATIM

    def between(self, at: int) -> str:
        """Return the literal before the mark number `at`; after the last one, the rest."""
        start = self.marks[at - 1].end if at else 0
        end = self.marks[at].start if at < len(self.marks) else len(self.text)
        return self.text[start:end]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One thing to be found next: every text that would be it."""

    what: Part | Slot
    text: str = ""
    call: int = 0
    value: Json = None
    style: ArgumentStyle = _VERBATIM


def align(
    text: str,
    start: int,
    message: Message,
    guess: Hypothesis,
    middles: Mapping[str, int] | None = None,
) -> AlignedExample | None:
    """Find all of a message in a turn's text from a place on; None where something is missing.

    A message of which a text is empty shows no place for it: None, too. `middles` says how often
    each literal stood between an argument's name and its value: of several places of a value that
    one counts which stands as most others do.
    """
    presence = message.presence
    present = [
        part
        for part, there in zip(
            Part, (presence.reasoning, presence.content, presence.calls), strict=True
        )
        if there
    ]
    for parts in permutations(present):
        wanted = [each for part in parts for each in _wanted(part, message, guess)]
        budget = [_STEPS]
        marks = _placed(text, start, wanted, budget, middles or {})
        if marks is not None:
            return AlignedExample(text, message, parts, tuple(marks), guess.style)
    return None


_STEPS = 4000
"""So many places are looked at for one example."""


def _wanted(part: Part, message: Message, guess: Hypothesis) -> Iterator[_Wanted]:
    if part is Part.REASONING:
        yield _Wanted(part, message.reasoning)
    elif part is Part.CONTENT:
        yield _Wanted(part, message.content)
    else:
        for at, call in enumerate(message.calls):
            for field in guess.fields:
                yield from _wanted_of_call(field, call, at, guess.style)


def _wanted_of_call(
    field: Slot, call: ToolCall, at: int, style: ArgumentStyle
) -> Iterator[_Wanted]:
    if field is Slot.NAME:
        yield _Wanted(field, call.name, at)
    elif field is Slot.ID:
        yield _Wanted(field, call.id, at)
    elif style.whole or style.encoded:
        yield _Wanted(field, "", at, dict(call.arguments), style)
    else:
        for key, value in call.arguments.items():
            yield _Wanted(Slot.KEY, key, at)
            yield _Wanted(Slot.VALUE, "", at, value, style)


def _placed(
    text: str,
    start: int,
    wanted: Sequence[_Wanted],
    budget: list[int],
    middles: Mapping[str, int],
) -> list[Mark] | None:
    """Place the first thing, then the others after it; try its next place where they do not fit."""
    if not wanted:
        return []
    places = _places(text, start, wanted[0])
    if wanted[0].what is Slot.VALUE and middles:
        places = iter(sorted(places, key=lambda mark: -middles.get(text[start : mark.start], 0)))
    for mark in places:
        budget[0] -= 1
        if budget[0] < 0:
            return None
        rest = _placed(text, mark.end, wanted[1:], budget, middles)
        if rest is not None:
            return [mark, *rest]
    return None


def _places(text: str, start: int, wanted: _Wanted) -> Iterator[Mark]:
    what, call = wanted.what, wanted.call
    if isinstance(what, Part):
        yield from _texts(text, start, wanted)
    elif what is Slot.ARGUMENTS and isinstance(wanted.value, dict):
        seek = decoded_strings if wanted.style.encoded else decoded_objects
        for span in seek(text, start, wanted.value):
            yield _mark(what, span, call, wanted.value)
    elif what is Slot.VALUE:
        for written in value_texts(wanted.value, wanted.style.escape):
            for span in found(text, written, start):
                yield _mark(what, span, call, wanted.value)
    else:
        for span in found(text, wanted.text, start):
            yield _mark(what, span, call, None)


def _mark(what: Slot, span: WordSpan, call: int, value: Json) -> Mark:
    kind = type_of(value) if what is Slot.VALUE else None
    return Mark(what, span.start, span.end, call, kind, value)


def _texts(text: str, start: int, wanted: _Wanted) -> Iterator[Mark]:
    """Place content or reasoning, whole or without whitespace at its edges."""
    for edges in _EDGES:
        written = edges.apply(wanted.text)
        for span in found(text, written, start):
            yield Mark(wanted.what, span.start, span.end, edges=edges)
        if written == wanted.text.strip():
            break


_EDGES = (
    Edges(),
    Edges(Strip.NOTHING, Strip.WHITESPACE),
    Edges(Strip.WHITESPACE, Strip.NOTHING),
    Edges(Strip.WHITESPACE, Strip.WHITESPACE),
)
