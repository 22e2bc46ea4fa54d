"""An output held against its message: which of its characters are whose, all others are literals.

The names, ids, keys and values of a message are what sentinels are to a render. They are looked for
in the order that a hypothesis says; the first complete row of places counts. With a name, then the
arguments one by one, `<call>look(city="Oslo")</call>` is

    '<call>'  NAME  '('  KEY  '="'  VALUE  '")</call>'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, permutations
from types import NoneType
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format import Edges, Escape, Part, Slot, Strip
from autoparser.analysis.core.schema import JsonType, type_of

from .own_words import ID_MARK, KEY_MARK, NAME_MARK
from .value_frames import ValueFrames
from .wording import WordSpan, decoded_objects, decoded_strings, found, key_texts, value_texts

__all__ = ["AlignedExample", "ArgumentStyle", "Hypothesis", "Mark", "align", "may_be_unknown"]


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
    """Of a value: it. Of a key: it, unescaped."""
    edges: Edges = field(default_factory=Edges)
    """Of content and reasoning: what of its whitespace is not there."""


@dataclass(frozen=True, slots=True)
class AlignedExample:
    """A turn's text with all its places."""

    text: str
    start: int
    """Where the output begins, after what the prompt has written."""
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
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of an argument: the words that literals around it may repeat, by their marks."""
    following: str = ""
    """Of a value: the next key."""


def align(
    text: str,
    start: int,
    message: Message,
    guess: Hypothesis,
    frames: ValueFrames | None = None,
    *,
    known: bool = False,
) -> AlignedExample | None:
    """Find all of a message in a turn's text from a place on; None where something is missing.

    A message of which a text is empty shows no place for it: None, too. `frames` says what stands
    around values in other examples: of several places of a value that one counts which stands as
    most others do, and a value whose text is not known is looked for there. With `known`, values
    that the text does not hold in a known notation are left out.
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
        if known:
            wanted = [each for each in wanted if not _unknown(each, text)]
        budget = [_STEPS]
        marks = _placed(text, start, wanted, budget, frames)
        if marks is not None:
            return AlignedExample(text, start, message, parts, tuple(marks), guess.style)
    return None


def may_be_unknown(message: Message, text: str) -> bool:
    """Whether an argument is an array, an object or a word that the text does not hold as such."""
    wanted = (
        _Wanted(Slot.VALUE, value=value)
        for call in message.calls
        for value in call.arguments.values()
    )
    return any(_unknown(each, text) for each in wanted)


def _unknown(wanted: _Wanted, text: str) -> bool:
    if wanted.what is not Slot.VALUE or not isinstance(wanted.value, (bool, list, dict, NoneType)):
        return False
    return not any(written in text for written in value_texts(wanted.value, wanted.style.escape))


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
        following = (*list(call.arguments)[1:], "")
        for (key, value), after in zip(call.arguments.items(), following, strict=False):
            own = {KEY_MARK: key, NAME_MARK: call.name, ID_MARK: call.id}
            yield _Wanted(Slot.KEY, key, at, key, style)
            yield _Wanted(Slot.VALUE, "", at, value, style, own, after)


def _placed(
    text: str,
    start: int,
    wanted: Sequence[_Wanted],
    budget: list[int],
    frames: ValueFrames | None,
) -> list[Mark] | None:
    """Place the first thing, then the others after it; try its next place where they do not fit."""
    if not wanted:
        return []
    places = _places(text, start, wanted[0])
    if wanted[0].what is Slot.VALUE and frames is not None:
        framed = _framed(text, start, wanted[0], frames)
        known = sorted(places, key=lambda mark: -frames.likely(text[start : mark.start]))
        places = chain(known, framed)
    for mark in places:
        budget[0] -= 1
        if budget[0] < 0:
            return None
        rest = _placed(text, mark.end, wanted[1:], budget, frames)
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
    else:
        for written in _spellings(wanted):
            for span in found(text, written, start):
                yield _mark(what, span, call, wanted.value)


def _spellings(wanted: _Wanted) -> tuple[str, ...]:
    if wanted.what is Slot.VALUE:
        return value_texts(wanted.value, wanted.style.escape)
    if wanted.what is Slot.KEY:
        return key_texts(wanted.text, wanted.style.escape)
    return (wanted.text,)


def _framed(text: str, start: int, wanted: _Wanted, frames: ValueFrames) -> Iterator[Mark]:
    """Place a value that is written in a way of its own where other values stand."""
    for span in frames.spans(text, start, wanted.value, wanted.own, wanted.following):
        yield _mark(Slot.VALUE, span, wanted.call, wanted.value)


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
