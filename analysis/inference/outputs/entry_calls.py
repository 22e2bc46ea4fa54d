"""Calls whose arguments are written one by one: a key of the schema, and its value after it.

What stands before a name, between a name and its first key, and before and after a key is markup
that nearly all calls have. A number, a word for true or null, a list or an object shows itself; of
a string both edges have to be found:

    get_weather | city: Oslo | days: 3 |        mid ': ', close ' |', since ` | days: ` follows a
    get_weather | city: Rio | days: 5 |         string, and after the numbers stands ' |'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import JsonType, type_of

from .key_gaps import KeyGap, literals_in
from .majority import shared_beginning, shared_end
from .offered import OfferedTools
from .sighted import SightedCall
from .sighted_keys import MANY, TEXT_ALONE, KeysSighted, keys_sighted

__all__ = ["entry_calls"]


@dataclass(slots=True)
class _Shown:
    """What stands around values."""

    middles: dict[JsonType, str] = field(default_factory=dict[JsonType, str])
    rests: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    """What follows a value that shows itself, by where."""
    string_middle: str = ""
    string_rests: dict[str, str] = field(default_factory=dict[str, str])


def entry_calls(
    texts: Sequence[tuple[str, int]], offered: OfferedTools, escape: Escape, odd: int = MANY
) -> list[list[SightedCall]]:
    """Return the calls of each text from its place on, as far as their edges are found.

    Of so many calls as `odd` says one may be opened otherwise.
    """
    sightings = keys_sighted(texts, offered, odd)
    gaps = list(_gaps(texts, sightings, offered, escape))
    shown = _around(gaps)
    values: dict[int, dict[str, tuple[Json, int]]] = {}
    spoilt: set[int] = set()
    for gap in gaps:
        value = _value(gap, shown)
        if value is None:
            spoilt.add(gap.sighting)
        else:
            found, end = value
            values.setdefault(gap.sighting, {})[gap.key.word] = (found, gap.key.end + end)
    calls: list[list[SightedCall]] = [[] for _ in texts]
    broken = {sightings[at].output for at in spoilt}
    for at, sighting in enumerate(sightings):
        if sighting.output in broken:
            continue
        name, held = sighting.name, values.get(at, {})
        start = sighting.keys[0].start if sighting.keys else name.end
        end = max((end for _, end in held.values()), default=name.end)
        arguments = {key: value for key, (value, _) in held.items()}
        place = (start, end)
        calls[sighting.output].append(
            SightedCall(name.word, arguments, (name.start, name.end), place)
        )
    return calls


def _gaps(
    texts: Sequence[tuple[str, int]],
    sightings: Sequence[KeysSighted],
    offered: OfferedTools,
    escape: Escape,
) -> Iterator[KeyGap]:
    for at, each in enumerate(sightings):
        text = texts[each.output][0]
        for number, key in enumerate(each.keys):
            following = each.keys[number + 1 : number + 2]
            end = following[0].start if following else each.end
            lead = "".join(each.leads[number + 1 : number + 2])
            where = f"key after {lead}" if following else "end" if each.last else "call"
            kinds = offered.kinds(each.name.word, key.word)
            yield KeyGap(at, key, text[key.end : end], where, kinds, escape)


def _around(gaps: Sequence[KeyGap]) -> _Shown:
    """Find what stands around values: first those that show themselves, then strings."""
    shown = _Shown()
    literal = [gap for gap in gaps if JsonType.STRING not in gap.kinds]
    middles: dict[JsonType, Counter[str]] = {}
    for gap in literal:
        for value, start, _ in literals_in(gap):
            middles.setdefault(type_of(value), Counter())[gap.text[:start]] += 1
    # A word of the markup may look like a value: `flag="false">false`. It is nearer to the key.
    shown.middles = {
        kind: max(counted, key=lambda middle: (counted[middle], len(middle)))
        for kind, counted in middles.items()
    }
    for gap in literal:
        for _, start, end in literals_in(gap):
            if gap.text[:start] in shown.middles.values():
                shown.rests.setdefault(gap.where, Counter())[gap.text[end:]] += 1
                break
    strings = [gap for gap in gaps if gap.kinds == TEXT_ALONE]
    strings = strings or [gap for gap in gaps if JsonType.STRING in gap.kinds]
    shown.string_middle = _middle(strings, shown)
    shown.string_rests = _string_rests(strings, shown)
    return shown


def _middle(strings: Sequence[KeyGap], shown: _Shown) -> str:
    if len(strings) > 1:
        return shared_beginning([gap.text for gap in strings])
    usual = max(shown.middles.values(), key=len, default="")
    rest = strings[0].text.removeprefix(usual) if strings else ""
    return usual + (rest[:1] if rest[:1] in ("'", '"') else "")


def _string_rests(strings: Sequence[KeyGap], shown: _Shown) -> dict[str, str]:
    """Return what follows strings by where; the edges of all places begin alike."""
    by_place: dict[str, list[str]] = {}
    for gap in strings:
        by_place.setdefault(gap.where, []).append(gap.text.removeprefix(shown.string_middle))
    ends: dict[str, str] = {}
    for where, texts in by_place.items():
        known = [text for text, _ in shown.rests.get(where, Counter[str]()).most_common(1)]
        ends[where] = shared_end(texts if len(texts) > 1 else [*texts, *known])
    if not ends:
        return {}
    first = max(ends, key=lambda where: len(by_place[where]))
    return {where: _aligned_end(end, ends[first]) for where, end in ends.items()}


def _aligned_end(end: str, model: str) -> str:
    """Leave out what some values end with alike, by what follows values elsewhere."""
    shared = [prefix_length(end[at:], model) for at in range(len(end))]
    best = max(range(len(end)), key=lambda at: (shared[at], -at), default=0)
    return end[best:] if shared[best:] and shared[best] else end


def _value(gap: KeyGap, shown: _Shown) -> tuple[Json, int] | None:
    """Return the value of a gap, and where in the gap it ends."""
    string = _string(gap, shown) if JsonType.STRING in gap.kinds else None
    if gap.kinds == TEXT_ALONE:
        return string
    for middle in _longest_first(shown.middles.values()):
        found = next(literals_in(gap, len(middle)), None) if gap.text.startswith(middle) else None
        if found is not None and found[1] == len(middle) and _rest_fits(gap, found[2], shown):
            return found[0], found[2]
    return string


def _rest_fits(gap: KeyGap, end: int, shown: _Shown) -> bool:
    """Whether what follows a literal follows others, where it may be the beginning of a string."""
    known = shown.rests.get(gap.where)
    return JsonType.STRING not in gap.kinds or not known or gap.text[end:] in known


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts), key=len, reverse=True)


def _string(gap: KeyGap, shown: _Shown) -> tuple[Json, int] | None:
    middle, rest = shown.string_middle, shown.string_rests.get(gap.where, "")
    if gap.escape is Escape.PYTHON:
        # `repr` chooses its quotes by what the string holds.
        middle, rest = middle.rstrip(_QUOTES), rest.lstrip(_QUOTES)
    if not gap.text.startswith(middle) or not rest or not gap.text.endswith(rest):
        return None
    end = len(gap.text) - len(rest)
    if end < len(middle):
        return None
    return Text(escape=gap.escape).read(gap.text[len(middle) : end]), end


_QUOTES = "'\""
