"""The calls of aligned examples, cut up: what stands before, between and after their places.

What of a literal repeats the call's own name or id is written as `NAME_MARK` or `ID_MARK`, so that
literals of different calls can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from autoparser.analysis.core.conversation import ToolCall
from autoparser.analysis.core.format import Slot

from .alignment import AlignedExample, Mark
from .own_words import with_own_words

__all__ = ["ShownCall", "shown_calls", "usual"]

_ENTRIES = (Slot.KEY, Slot.VALUE)

_Kind = TypeVar("_Kind", bound=Hashable)


def usual(seen: Iterable[_Kind]) -> _Kind | None:
    """Return what was seen most often, of two the first: an odd example outvotes nobody."""
    counted = Counter(seen)
    return max(counted, key=lambda each: counted[each], default=None)


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One call of an example."""

    at: int
    """Its number in the turn."""
    before: str
    """The literal up to its first place, from the end of what stands before."""
    fields: tuple[tuple[Slot, tuple[Mark, ...]], ...]
    """Its fields in order, each with its places; arguments one by one have many."""
    joints: tuple[str, ...]
    """The literals between the fields."""
    after: str
    """The literal from its last place to the next part, call, or the end."""
    last: bool
    """No call follows."""
    inside: tuple[str, ...]
    """The literals between the places of the arguments, one by one."""
    texts: tuple[str, ...]
    """What stands at each place of the arguments."""


def shown_calls(aligned: AlignedExample) -> Iterator[ShownCall]:
    """Cut up the calls of an example."""
    positions = [at for at, mark in enumerate(aligned.marks) if isinstance(mark.what, Slot)]
    number = len(aligned.message.calls)
    previous: ToolCall | None = None
    for call_at, group in groupby(positions, key=lambda at: aligned.marks[at].call):
        places = list(group)
        call = aligned.message.calls[call_at]
        before = aligned.between(places[0])
        yield _shown(
            aligned,
            call,
            places,
            before if previous is None else with_own_words(before, previous),
            last=call_at == number - 1,
        )
        previous = call


def _shown(
    aligned: AlignedExample, call: ToolCall, places: Sequence[int], before: str, *, last: bool
) -> ShownCall:
    fields: list[tuple[Slot, tuple[Mark, ...]]] = []
    joints: list[str] = []
    inside: list[str] = []
    for at in places:
        mark = aligned.marks[at]
        slot = Slot.ARGUMENTS if mark.what in _ENTRIES else Slot(mark.what)
        literal = aligned.between(at)
        if fields and slot is Slot.ARGUMENTS and fields[-1][0] is slot:
            fields[-1] = (slot, (*fields[-1][1], mark))
            inside.append(literal)
            continue
        if fields:
            joints.append(with_own_words(literal, call))
        fields.append((slot, (mark,)))
    marks = next((marks for slot, marks in fields if slot is Slot.ARGUMENTS), ())
    return ShownCall(
        aligned.marks[places[0]].call,
        before,
        tuple(fields),
        tuple(joints),
        with_own_words(aligned.between(places[-1] + 1), call),
        last,
        tuple(inside),
        tuple(aligned.text[mark.start : mark.end] for mark in marks),
    )
