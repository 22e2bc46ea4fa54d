"""Calls whose arguments are written one by one: a key of the schema, and its value after it.

What stands before a name, between a name and its first key, and before and after a key is markup
that nearly all calls have. A number, a word for true or null, a list or an object shows itself; of
a string both edges have to be found:

    get_weather | city: Oslo | days: 3 |        mid ': ', close ' |', since ` | days: ` follows a
    get_weather | city: Rio | days: 5 |         string, and after the numbers stands ' |'
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import JsonType, type_of

from .majority import shared_beginning, shared_end
from .offered import OfferedTools, WordSeen
from .sighted import SightedCall

__all__ = ["entry_calls"]

_TEXT_ALONE = frozenset({JsonType.STRING})
_MANY = 3
"""Of so many sightings one may be a word that only looks like a call or a key."""


@dataclass(slots=True)
class _Sighting:
    """A name, and its keys after it."""

    output: int
    name: WordSeen
    keys: list[WordSeen]
    end: int = 0
    """Where the next call begins, or the text ends."""
    last: bool = True


@dataclass(frozen=True, slots=True)
class _Gap:
    """What stands between a key and the next key, or the end of its call."""

    sighting: int
    key: WordSeen
    text: str
    where: str
    """What follows: another key, another call, or the end."""
    kinds: frozenset[JsonType]


@dataclass(slots=True)
class _Shown:
    """What stands around values."""

    middles: dict[JsonType, str] = field(default_factory=dict[JsonType, str])
    rests: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    """What follows a value that shows itself, by where."""
    string_middle: str = ""
    string_rests: dict[str, str] = field(default_factory=dict[str, str])


def entry_calls(
    texts: Sequence[tuple[str, int]], offered: OfferedTools, escape: Escape
) -> list[list[SightedCall]]:
    """Return the calls of each text from its place on, as far as their edges are found."""
    sightings = _sightings(texts, offered)
    gaps = list(_gaps(texts, sightings, offered))
    shown = _around(gaps)
    values: dict[int, dict[str, tuple[Json, int]]] = {}
    spoilt: set[int] = set()
    for gap in gaps:
        value = _value(gap, shown, escape)
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


def _sightings(texts: Sequence[tuple[str, int]], offered: OfferedTools) -> list[_Sighting]:
    """Find the names that stand as most do that have keys after them, and those keys."""
    seen: list[_Sighting] = []
    for number, (text, start) in enumerate(texts):
        names = [name for name in offered.names_in(text) if name.start >= start]
        for at, name in enumerate(names):
            end = names[at + 1].start if at + 1 < len(names) else len(text)
            keys = list(offered.keys_in(name.word, text, name.end, end))
            seen.append(_Sighting(number, name, keys, end))
    keyed = [each for each in seen if each.keys]
    firsts = {each.output: each for each in reversed(keyed)}.values()
    later = [each for each in keyed if each not in firsts]
    befores = tuple(
        shared_end([_before(texts, each) for each in some], _MANY)
        for some in (firsts, later)
        if some
    )
    between = shared_beginning(
        [texts[each.output][0][each.name.end : each.keys[0].start] for each in keyed], _MANY
    )
    kept = [each for each in seen if _stands(texts, each, befores, between)]
    for at, each in enumerate(kept):
        text = texts[each.output][0]
        following = kept[at + 1] if at + 1 < len(kept) else None
        each.last = following is None or following.output != each.output
        each.end = len(text) if following is None or each.last else following.name.start
        each.keys = list(offered.keys_in(each.name.word, text, each.name.end, each.end))
    _keep_true_keys(texts, kept)
    return kept


_CONTEXT = 200


def _before(texts: Sequence[tuple[str, int]], each: _Sighting) -> str:
    text, start = texts[each.output]
    return text[max(start, each.name.start - _CONTEXT) : each.name.start]


def _stands(
    texts: Sequence[tuple[str, int]], each: _Sighting, befores: tuple[str, ...], between: str
) -> bool:
    if not _before(texts, each).endswith(befores):
        return False
    follows = texts[each.output][0].startswith(between, each.name.end)
    return follows if each.keys or not all(map(str.strip, befores)) else True


def _keep_true_keys(texts: Sequence[tuple[str, int]], sightings: Sequence[_Sighting]) -> None:
    """Leave out words of values that only look like keys: they stand otherwise than most do."""
    keys = [(texts[each.output][0], key) for each in sightings for key in each.keys]
    after = shared_beginning([text[key.end :][:_CONTEXT] for text, key in keys], _MANY)
    rows = [_between(texts[each.output][0], each) for each in sightings if each.keys]
    first, later = [row[0] for row in rows], [text for row in rows for text in row[1:]]
    before = tuple(shared_end(some, _MANY) for some in (first, later) if some)
    for each in sightings:
        text = texts[each.output][0]
        each.keys = [
            key
            for key, left in zip(each.keys, _between(text, each), strict=True)
            if text.startswith(after, key.end) and left.endswith(before)
        ]


def _between(text: str, each: _Sighting) -> list[str]:
    """Return what stands before each key, from the name or the key before it."""
    return [text[one.end : other.start] for one, other in pairwise([each.name, *each.keys])]


def _gaps(
    texts: Sequence[tuple[str, int]], sightings: Sequence[_Sighting], offered: OfferedTools
) -> Iterator[_Gap]:
    for at, each in enumerate(sightings):
        text = texts[each.output][0]
        for number, key in enumerate(each.keys):
            following = each.keys[number + 1 : number + 2]
            end = following[0].start if following else each.end
            where = "key" if following else "end" if each.last else "call"
            kinds = offered.kinds(each.name.word, key.word)
            yield _Gap(at, key, text[key.end : end], where, kinds)


def _around(gaps: Sequence[_Gap]) -> _Shown:
    """Find what stands around values: first those that show themselves, then strings."""
    shown = _Shown()
    literal = [gap for gap in gaps if JsonType.STRING not in gap.kinds]
    middles: dict[JsonType, Counter[str]] = {}
    for gap in literal:
        for value, start, _ in _literals(gap):
            middles.setdefault(type_of(value), Counter())[gap.text[:start]] += 1
    # A word of the markup may look like a value: `flag="false">false`. It is nearer to the key.
    shown.middles = {
        kind: max(counted, key=lambda middle: (counted[middle], len(middle)))
        for kind, counted in middles.items()
    }
    for gap in literal:
        for _, start, end in _literals(gap):
            if gap.text[:start] in shown.middles.values():
                shown.rests.setdefault(gap.where, Counter())[gap.text[end:]] += 1
                break
    strings = [gap for gap in gaps if gap.kinds == _TEXT_ALONE]
    strings = strings or [gap for gap in gaps if JsonType.STRING in gap.kinds]
    shown.string_middle = _middle(strings, shown)
    shown.string_rests = _string_rests(strings, shown)
    return shown


def _middle(strings: Sequence[_Gap], shown: _Shown) -> str:
    if len(strings) > 1:
        return shared_beginning([gap.text for gap in strings])
    usual = max(shown.middles.values(), key=len, default="")
    rest = strings[0].text.removeprefix(usual) if strings else ""
    return usual + (rest[:1] if rest[:1] in ("'", '"') else "")


def _string_rests(strings: Sequence[_Gap], shown: _Shown) -> dict[str, str]:
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


_LITERAL = re.compile(
    r"(?<![\w.])(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?Infinity|NaN|true|false|null|True|False|None)(?!\w)"
    r"|[\[{]"
)
_WORDS: Mapping[str, Json] = {"True": True, "False": False, "None": None}


def _literals(gap: _Gap, start: int = 0) -> Iterator[tuple[Json, int, int]]:
    """Go through the values in a gap that show themselves and have a type of the schema."""
    for match in _LITERAL.finditer(gap.text, start):
        found = _read_literal(gap.text, match)
        if found is not None and _allowed(found[0], gap.kinds):
            yield found[0], match.start(), found[1]


def _allowed(value: Json, kinds: frozenset[JsonType]) -> bool:
    kind = type_of(value)
    return kind in kinds or (kind is JsonType.INTEGER and JsonType.NUMBER in kinds)


def _read_literal(text: str, match: re.Match[str]) -> tuple[Json, int] | None:
    word = match.group()
    if word in _WORDS:
        return _WORDS[word], match.end()
    try:
        value, end = json.JSONDecoder().raw_decode(text, match.start())
    except (ValueError, RecursionError):
        return _python_container(text, match.start()) if word in "[{" else None
    return value, end


def _python_container(text: str, at: int) -> tuple[Json, int] | None:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "[{") - (text[end] in "]}")
        if depth == 0:
            try:
                return ast.literal_eval(text[at : end + 1]), end + 1
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
    return None


def _value(gap: _Gap, shown: _Shown, escape: Escape) -> tuple[Json, int] | None:
    """Return the value of a gap, and where in the gap it ends."""
    string = _string(gap, shown, escape) if JsonType.STRING in gap.kinds else None
    if gap.kinds == _TEXT_ALONE:
        return string
    for middle in _longest_first(shown.middles.values()):
        found = next(_literals(gap, len(middle)), None) if gap.text.startswith(middle) else None
        if found is not None and found[1] == len(middle) and _rest_fits(gap, found[2], shown):
            return found[0], found[2]
    return string


def _rest_fits(gap: _Gap, end: int, shown: _Shown) -> bool:
    """Whether what follows a literal follows others, where it may be the beginning of a string."""
    known = shown.rests.get(gap.where)
    return JsonType.STRING not in gap.kinds or not known or gap.text[end:] in known


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts), key=len, reverse=True)


def _string(gap: _Gap, shown: _Shown, escape: Escape) -> tuple[Json, int] | None:
    middle, rest = shown.string_middle, shown.string_rests.get(gap.where, "")
    if escape is Escape.PYTHON:
        # `repr` chooses its quotes by what the string holds.
        middle, rest = middle.rstrip(_QUOTES), rest.lstrip(_QUOTES)
    if not gap.text.startswith(middle) or not rest or not gap.text.endswith(rest):
        return None
    end = len(gap.text) - len(rest)
    if end < len(middle):
        return None
    return Text(escape=escape).read(gap.text[len(middle) : end]), end


_QUOTES = "'\""
