"""Calls that were sighted in an output, and what varies with each of them though no tool names it.

A call's name and arguments are known words. What stands between them is markup, but for an id: a
word that is another one in nearly every call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Slot

from .majority import shared_beginning, shared_end

__all__ = ["SightedCall", "SightedOutput", "with_ids"]


@dataclass(frozen=True, slots=True)
class SightedCall:
    """A call in an output."""

    name: str
    arguments: dict[str, Json]
    name_at: tuple[int, int]
    arguments_at: tuple[int, int]
    """Where they begin and end; where there are none, where the name ends."""
    id_at: tuple[int, int] | None = None

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where its fields stand, in the order of the text."""
        known = [self.arguments_at]
        if not self.named_by_id:
            known.append(self.name_at)
        if self.id_at is not None:
            known.append(self.id_at)
        return sorted(known)

    @property
    def named_by_id(self) -> bool:
        """Whether the name stands inside the id."""
        start, end = self.id_at or (0, 0)
        return start <= self.name_at[0] < end

    @property
    def start(self) -> int:
        """Where its first field begins."""
        return self.places[0][0]

    @property
    def end(self) -> int:
        """Where its last field ends."""
        return max(end for _, end in self.places)

    @property
    def order(self) -> tuple[Slot, ...]:
        """Its fields in the order of the text; arguments count that are not there."""
        named = {self.name_at: Slot.NAME, self.arguments_at: Slot.ARGUMENTS}
        if self.id_at is not None:
            named[self.id_at] = Slot.ID
        return tuple(named[place] for place in self.places)


@dataclass(frozen=True, slots=True)
class SightedOutput:
    """A turn's text, from where the output begins, and the calls in it."""

    text: str
    start: int
    calls: tuple[SightedCall, ...]

    def before(self, at: int) -> str:
        """Return what stands before a call, from the end of the call before it."""
        begin = self.calls[at - 1].end if at else self.start
        return self.text[begin : self.calls[at].start]

    def after(self, at: int) -> str:
        """Return what stands after a call, up to the next one."""
        following = self.calls[at + 1 : at + 2]
        return self.text[self.calls[at].end : following[0].start if following else len(self.text)]


_Place: TypeAlias = "Callable[[SightedOutput, int], tuple[int, int] | None]"
_SHORTEST = 2
"""So much markup has to stand before a word that may be an id."""
_ID = re.compile(r"[\w][\w.:-]*")
_ID_AT_END = re.compile(r"[\w][\w.:-]*$")


def with_ids(outputs: Sequence[SightedOutput]) -> Iterator[Sequence[SightedOutput]]:
    """Find ids between the fields of calls, before and after them, around the name; last, none."""
    for find in (_between, _before, _after, _around):
        found = find(outputs)
        if found is not None:
            yield found
    yield outputs


def _each_call(outputs: Sequence[SightedOutput]) -> list[tuple[SightedOutput, int]]:
    return [(output, at) for output in outputs for at in range(len(output.calls))]


def _between(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    texts = [
        _without(text, call.name)
        for output in outputs
        for call in output.calls
        for (_, end), (start, _) in pairwise(call.places)
        if (text := output.text[end:start])
    ]
    if len(set(texts)) == 1:
        return None
    before, after = shared_beginning(texts), shared_end(texts)
    if not before.strip() and not after.strip():
        return None

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        first, second = output.calls[at].places[:2]
        return _word_at(output.text, first[1] + len(before), second[0] - len(after))

    return _placed(outputs, place)


def _before(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    texts = [output.before(at) for output, at in _each_call(outputs)]
    last = shared_end(texts)
    rests = [text.removesuffix(last) for text in texts]
    words = [match.group() for rest in rests if (match := _ID_AT_END.search(rest))]
    if not last.strip() or not _vary(words, len(rests)):
        return None
    found = [(rest, match) for rest in rests if (match := _ID_AT_END.search(rest))]
    first = shared_end([rest[: match.start()] for rest, match in found])
    if len(first.strip()) < _SHORTEST:
        return None

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        text = output.before(at)
        if not text.endswith(last):
            return None
        end = output.calls[at].start - len(last)
        begin = max(output.start, end - len(text) + len(last))
        match = _ID_AT_END.search(output.text[begin:end])
        return (begin + match.start(), end) if match else None

    return _placed(outputs, place)


def _after(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    texts = [output.after(at) for output, at in _each_call(outputs)]
    first = shared_beginning(texts)
    rests = [text.removeprefix(first) for text in texts]
    words = [match.group() for rest in rests if (match := _ID.match(rest))]
    if not first.strip() or not _vary(words, len(rests)):
        return None
    found = [(rest, match) for rest in rests if (match := _ID.match(rest))]
    following = shared_beginning([rest[match.end() :] for rest, match in found])
    if not following.strip():
        return None

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        begin = output.calls[at].end + len(first)
        match = _ID.match(output.text, begin)
        return (begin, match.end()) if match else None

    return _placed(outputs, place)


_ID_BEFORE = re.compile(r"[\w.:/~#@-]*$")
_ID_AFTER = re.compile(r"[\w.:/~#@-]*")


def _around(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    """Find ids that hold the name, as `call_7.look`."""

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        call = output.calls[at]
        start, end = call.name_at
        begin = output.calls[at - 1].end if at else output.start
        before = _ID_BEFORE.search(output.text[begin:start])
        after = _ID_AFTER.match(output.text, end)
        if before is None or after is None or after.end() - end + len(before.group()) == 0:
            return None
        return start - len(before.group()), after.end()

    return _placed(outputs, place)


def _vary(words: Sequence[str], calls: int) -> bool:
    """Whether nearly every call has a word of its own; a number that counts calls is not one."""
    return 2 * len(words) > calls and 2 * len(set(words)) > len(words) and len(set(words)) > 1


def _word_at(text: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if start < end and _ID.fullmatch(text, start, end) else None


def _placed(outputs: Sequence[SightedOutput], place: _Place) -> list[SightedOutput] | None:
    """Give every call its id; None where few have one, or where it is the call's number."""
    found: list[SightedOutput] = []
    words: list[str] = []
    numbers: list[bool] = []
    for output in outputs:
        calls: list[SightedCall] = []
        for at, call in enumerate(output.calls):
            span = place(output, at)
            calls.append(replace(call, id_at=span))
            if span is not None:
                word = _without(output.text[slice(*span)], call.name)
                words.append(word)
                numbers.append(word in (str(at), str(at + 1)))
        found.append(replace(output, calls=tuple(calls)))
    if all(numbers) or not _vary(words, sum(len(output.calls) for output in outputs)):
        return None
    return found


def _without(text: str, name: str) -> str:
    """Let a literal that repeats the name be the same for all names."""
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "\ue001", text)
