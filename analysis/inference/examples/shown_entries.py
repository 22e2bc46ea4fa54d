"""The arguments of shown calls, one by one: what stands before, inside and after each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import JsonType, Slot, StringGuard

from .alignment import AlignedExample
from .own_words import with_key_mark, with_own_words
from .shown_calls import ShownCall, usual
from .value_frames import ValueFrames

__all__ = ["ShownEntries", "ShownEntry", "frames_of", "shown_entries"]


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One argument of one call."""

    key: str
    key_text: str
    kind: JsonType
    value: Json
    text: str
    lead: str
    """What stands before the key of the first one; empty for the others."""
    middle: str
    after: str
    first: bool
    last: bool
    """No argument follows."""


@dataclass(frozen=True, slots=True)
class ShownEntries:
    """The literals in and around entries, by the type of the value that they belong to."""

    leads: tuple[tuple[JsonType, str], ...]
    """What stands before each first entry."""
    pairs: tuple[tuple[JsonType, JsonType, str], ...]
    """What stands between each two entries, with the types of both values."""
    middles: dict[JsonType, str]
    betweens: dict[JsonType, str]
    tails: dict[JsonType, list[str]]
    texts: tuple[tuple[Json, str], ...]
    keys: tuple[tuple[str, str], ...]
    """Keys, and how they are written."""
    guard: StringGuard | None
    """What stands around some strings alone."""


def shown_entries(calls: Sequence[ShownCall]) -> ShownEntries:
    """Gather the literals around the arguments of calls, what is their own left out."""
    entries = _with_key_marks(list(_entries(calls)))
    guard = _guard(entries)
    if guard is not None:
        entries = [_unguarded(each, guard) for each in entries]
    return ShownEntries(
        tuple((each.kind, each.lead) for each in entries if each.first),
        tuple((one.kind, two.kind, one.after) for one, two in pairwise(entries) if not one.last),
        _usual_by_kind(entries, lambda each: each.middle),
        _usual_by_kind([each for each in entries if not each.last], lambda each: each.after),
        _afters([each for each in entries if each.last]),
        tuple((each.value, each.text) for each in entries),
        tuple((each.key, each.key_text) for each in entries),
        guard,
    )


def frames_of(aligned: Iterable[AlignedExample]) -> ValueFrames:
    """Gather what stands around values, for those that are yet to be found."""
    middles: Counter[str] = Counter()
    betweens: dict[str, None] = {}
    tails: dict[JsonType | None, list[str]] = {}
    for each in aligned:
        for at, (mark, following) in enumerate(zip_longest(each.marks, each.marks[1:])):
            literal = each.between(at + 1)
            if mark.what is Slot.KEY and following is not None and following.what is Slot.VALUE:
                middles[literal] += 1
            if mark.what is not Slot.VALUE or each.marks[at - 1].what is not Slot.KEY:
                continue
            key = each.marks[at - 1]
            literal = with_own_words(literal, each.message.calls[mark.call])
            literal = with_key_mark(literal, each.text[key.start : key.end])
            if following is not None and following.what is Slot.KEY:
                betweens[literal] = None
            else:
                tails.setdefault(mark.kind, []).append(literal)
    shared = dict.fromkeys(common_prefix(*texts) for texts in tails.values())
    return ValueFrames(
        middles, tuple(each for each in betweens if each), tuple(each for each in shared if each)
    )


def _entries(calls: Sequence[ShownCall]) -> Iterator[ShownEntry]:
    for call in calls:
        around = (call.before, *call.joints, call.after)
        for at, (slot, marks) in enumerate(call.fields):
            if slot is not Slot.ARGUMENTS or marks[0].what is not Slot.KEY:
                continue
            afters = (*call.inside[1::2], around[at + 1])
            for number, after in enumerate(afters):
                key, value = marks[2 * number], marks[2 * number + 1]
                key_text, text = call.texts[2 * number : 2 * number + 2]
                yield ShownEntry(
                    str(key.value),
                    key_text,
                    value.kind or JsonType.NULL,
                    value.value,
                    text,
                    "" if number else around[at],
                    call.inside[2 * number],
                    after,
                    not number,
                    number + 1 == len(afters),
                )


def _with_key_marks(entries: Sequence[ShownEntry]) -> Sequence[ShownEntry]:
    """Put marks where most entries are followed by their own key, as in `</city>`."""
    marked = [replace(each, after=with_key_mark(each.after, each.key_text)) for each in entries]
    changed = sum(new.after != old.after for new, old in zip(marked, entries, strict=True))
    return marked if 2 * changed > len(entries) else entries


def _guard(entries: Sequence[ShownEntry]) -> StringGuard | None:
    """Tell what stands around some strings beyond what stands around the others."""
    strings = [each for each in entries if each.kind is JsonType.STRING]
    plain = min((each.middle for each in strings), key=len, default="")
    bare = [each for each in strings if each.middle == plain]
    wrapped = [each for each in strings if each not in bare and each.middle.startswith(plain)]
    found = {
        (each.middle.removeprefix(plain), each.after.removesuffix(other.after))
        for each in wrapped
        for other in entries
        if other not in wrapped and each.last == other.last and each.after.endswith(other.after)
    }
    if len(found) != 1:
        return None
    opening, close = found.pop()
    held = [str(each.value) for each in wrapped if each.middle == plain + opening]
    signs = _telling_signs(held, "".join(str(each.value) for each in bare))
    return StringGuard(signs, opening, close) if close and signs else None


def _telling_signs(held: Sequence[str], others: str) -> str:
    """Return signs of which every one of these texts has one, and the others have none."""
    signs = Counter(
        char
        for text in held
        for char in dict.fromkeys(text)
        if not char.isalnum() and char != " " and char not in others
    )
    told = ""
    rest: tuple[str, ...] = tuple(held)
    while rest:
        most = max(signs.values(), default=0)
        if not most:
            return ""
        told += "".join(char for char in signs if signs[char] == most and char not in told)
        rest = tuple(text for text in rest if not set(text) & set(told))
        signs = Counter({char: sum(char in text for text in rest) for char in signs})
    return told


def _unguarded(each: ShownEntry, guard: StringGuard) -> ShownEntry:
    if each.kind is not JsonType.STRING or not each.middle.endswith(guard.open):
        return each
    return replace(
        each,
        middle=each.middle.removesuffix(guard.open),
        after=each.after.removeprefix(guard.close),
    )


def _usual_by_kind(
    entries: Sequence[ShownEntry], told: Callable[[ShownEntry], str]
) -> dict[JsonType, str]:
    kinds = dict.fromkeys(each.kind for each in entries)
    return {
        kind: usual(told(each) for each in entries if each.kind is kind) or "" for kind in kinds
    }


def _afters(entries: Sequence[ShownEntry]) -> dict[JsonType, list[str]]:
    afters: dict[JsonType, list[str]] = {}
    for each in entries:
        afters.setdefault(each.kind, []).append(each.after)
    return afters
