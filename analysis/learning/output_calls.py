r"""Find calls in outputs, in whatever notation: by names of tools, keys and values of schemas.

`object_calls` finds arguments that are one object, `entry_calls` those written one by one, a key of
the schema and then its value. The text before a name, between a name and its first key, and around
a key is markup that nearly all calls share. A number, a word for true or null, a list or an object
is recognized by itself; of a string both edges have to be found:

    get_weather | city: Oslo | days: 3 |        mid ': ', close ' |', since ` | days: ` follows a
    get_weather | city: Rio | days: 5 |         string, and after the numbers stands ' |'

    SightedCall("get_weather", {"city": "Oslo", "days": 3}), and with "Rio" and 5

`framed_beginning` finds the block that texts open and close alike, where no marker in brackets
stands out. Words in a sentence are alike by chance; the opening of a block has a word and a sign
that sentences lack, and so has its closing, or it is a line. Of the texts

    '{"thought": "Rain, perhaps."}\nLet me see.'      the opening is '{"thought": "',
    '{"thought": "Ask the tool"}\n'                   the closing is '"}\n'
    '{"thought": "No idea?"}\nWell.'
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import common_suffix, prefix_length

from .example_alignment import objects_in
from .output_sightings import (
    MANY,
    TEXT_ALONE,
    KeyGap,
    KeysSighted,
    SightedCall,
    keys_sighted,
    literals_in,
)
from .outputs import ODD, OfferedTools, WordSeen, shared_beginning, shared_end

# Arguments as one object, in JSON or Python's notation.
#
# Such an object belongs to the name next to it on one side. jsonschema decides whether it fits the
# function's schema, so the envelope around name and arguments does not count.


class ObjectStyle(NamedTuple):
    """Where objects are searched for."""

    name_first: bool
    """Whether the name precedes its arguments, as in `{"name": "look", "arguments": {…}}`."""
    encoded: bool
    r"""Whether the object is JSON text inside a JSON string, as in `"{\"city\": \"Oslo\"}"`."""


_AFTER_KEY = re.compile(r"[^\w\s.,;!?]|\n| *:?=")
"""Matches the text after a key in markup, not the text after a word of a sentence."""


def holds_call(text: str, offered: OfferedTools) -> bool:
    """Whether a text holds a possible call in any notation; a name alone is not a call."""
    # A name without any of its keys is an ordinary word.
    names = offered.names_in(text)
    for at, name in enumerate(names):
        end = names[at + 1].start if at + 1 < len(names) else len(text)
        for key in offered.keys_in(name.word, text, name.end, end):
            bracketed = _BEFORE_BARE_KEY.search(text[name.end : key.start])
            if _AFTER_KEY.match(text, key.end) or (
                bracketed and _AFTER_BARE_KEY.match(text, key.end)
            ):
                return True
    styles = (ObjectStyle(first, encoded) for first in (True, False) for encoded in (False, True))
    sighted = (call for style in styles for call in object_calls(text, 0, offered, style))
    return bool(names) and any(call.arguments for call in sighted)


_BEFORE_BARE_KEY = re.compile(r"[(\[{<,]\s*\Z")
_AFTER_BARE_KEY = re.compile(r"\s+[\"'\d\[{(-]")
"""Around a key in brackets that a space alone parts from its value: ``(city "New York")``."""


def is_misread(name: str, arguments: Mapping[str, Json], offered: OfferedTools) -> bool:
    """Whether a string holds another argument of its call, as if its end had been missed."""
    return any(
        key.word != own and _AFTER_KEY.match(value, key.end)
        for own, value in arguments.items()
        if isinstance(value, str)
        for key in offered.keys_in(name, value, 0, len(value))
    )


def object_calls(
    text: str, start: int, offered: OfferedTools, style: ObjectStyle
) -> list[SightedCall]:
    """Return the calls in a text from an offset on, in its order."""
    names = [name for name in offered.names_in(text) if name.start >= start]
    if style.name_first:
        return list(_names_first(text, names, offered, encoded=style.encoded))
    return list(_arguments_first(text, start, names, offered, encoded=style.encoded))


def _names_first(
    text: str, names: list[WordSeen], offered: OfferedTools, *, encoded: bool
) -> Iterator[SightedCall]:
    last_end = 0
    for at, name in enumerate(names):
        if name.start < last_end:
            continue
        # The arguments of a call precede the name of the next call.
        end = next((later.start for later in names[at + 1 :]), len(text))
        for value in objects_in(text, name.end, encoded=encoded):
            if value.start >= end:
                break
            # Other objects may come between: an id, a type, the wrapper itself.
            if offered.fits(name.word, value.value):
                place = (value.start, value.end)
                yield SightedCall(name.word, value.value, (name.start, name.end), place)
                last_end = value.end
                break


def _arguments_first(
    text: str, start: int, names: list[WordSeen], offered: OfferedTools, *, encoded: bool
) -> Iterator[SightedCall]:
    last_end = start
    for value in objects_in(text, start, encoded=encoded):
        if value.start < last_end:
            continue
        name = next((name for name in names if name.start >= value.end), None)
        if name is not None and offered.fits(name.word, value.value):
            place = (value.start, value.end)
            yield SightedCall(name.word, value.value, (name.start, name.end), place)
            last_end = name.end


_HEAD = 4
"""Texts that share their first this many characters may begin alike."""
_SHARE = 0.3
"""At least this share of the texts has to begin alike."""
_FEWEST = 3
MARKUP_SIGN = re.compile(r"[^\w\s.,;:!?…'’\"“”()*–—-]")
"""Matches signs that sentences do not have."""
_LAST_WORDS = re.compile(r"[^\n:\"<>\[\](){}|#=`]*\Z")
"""Matches the text after the last sign of an opening: reasoning that begins alike."""


class FramedBeginning(NamedTuple):
    """The markup before and after the block at the front of some texts."""

    opening: str
    """E.g. `{"thought": "`."""
    closing: str
    """E.g. `"}` and a line break."""


def framed_beginning(texts: Sequence[str]) -> FramedBeginning | None:
    """Find an opening that many of the texts share, and the closing in nearly all of these."""
    # Prose begins with letters; a block has a sign in its first characters.
    heads = Counter(text[:_HEAD] for text in texts if MARKUP_SIGN.search(text[:_HEAD]))
    for head, count in heads.most_common(1):
        begun = [text for text in texts if text.startswith(head)]
        opening = _LAST_WORDS.sub("", shared_beginning(begun))
        if count < max(_FEWEST, _SHARE * len(texts)) or not re.search(r"[^\W\d_]{2}", opening):
            return None
        closing = _shared_inside(
            [text[len(opening) :] for text in begun if text.startswith(opening)]
        )
        return FramedBeginning(opening, closing) if closing else None
    return None


def _shared_inside(texts: Sequence[str]) -> str:
    """Return the longest text with a sign that nearly all of these contain exactly once."""
    needed = len(texts) - len(texts) // ODD
    # A short text holds the closing and little else; the very shortest may be cut.
    base = sorted(texts, key=len)[len(texts) // ODD]
    found, end = "", 0
    for start in range(len(base)):
        end = max(end, start)
        while end < len(base) and sum(base[start : end + 1] in text for text in texts) >= needed:
            end += 1
        shared = base[start:end]
        if len(shared) > max(1, len(found)) and MARKUP_SIGN.search(shared):
            found = shared
    once = sum(text.count(found) == 1 for text in texts) if found else 0
    return found if once >= needed else ""


# Remains of calls that were cut or garbled: they are read as content, but are not content.


_SHORTEST = 2
"""A shorter opening of calls may stand in any sentence."""


def begins_call(content: str, calls: CallFormat) -> bool:
    """Whether content holds the opening of calls: one was cut, or is garbled."""
    opening = calls.opening.strip()
    return len(opening) >= _SHORTEST and opening in content


def ends_call(content: str, calls: CallFormat) -> bool:
    """Whether content ends with the closing of calls: the opening is garbled.

    `</call>` proves it. Signs alone may end any content, as three backticks end code.
    """
    last = calls.row[-1]
    closing = (("" if isinstance(last, RowSlot) else last) + calls.section_close).strip()
    return re.search(r"\w", closing) is not None and content.rstrip().endswith(closing)


_FRAGMENT = 3
"""At least this many letters of a name may be its remains."""


@dataclass(frozen=True, slots=True)
class RestoredCall:
    """A text from the end of a cut name on, with the opening and the name restored."""

    text: str
    """E.g. `(call list_rooms)` for `(cat_rooms)`."""
    sure: bool
    """Whether no sentence has such a word, e.g. one with `_`, or it follows the remains of the
    opening."""


def restored_calls(content: str, heads: Mapping[str, str]) -> Iterator[RestoredCall]:
    """Restore calls whose opening and name are cut; a parser has to decide whether they are calls.

    `heads` are the prefixes of turns with one call, up to the name. In `(cat_rooms)`, where a call
    is `(call list_rooms)`, the remains of the opening are `(ca`, those of the name `t_rooms`.
    """
    for name, head in heads.items():
        for found in re.finditer(re.escape(name[-_FRAGMENT:]), content):
            start = found.start()
            left = len(name) - _FRAGMENT
            # Remove the longest suffix of the name that is left.
            while left and start and content[start - 1] == name[left - 1]:
                start, left = start - 1, left - 1
            if left:
                opened = _begun_length(head.strip(), content[:start]) > 1
                sure = opened or not name[left:].isalpha()
                yield RestoredCall(head + name + content[found.end() :], sure)


def _begun_length(opening: str, before: str) -> int:
    """Return how many characters of an opening a text ends with."""
    counts = range(len(opening), 0, -1)
    return next((count for count in counts if before.endswith(opening[:count])), 0)


def ends_in_name(content: str, heads: Mapping[str, str]) -> bool:
    """Whether content ends with the opening of a call and a part of a name that is not a word."""
    return any(
        not name[:count].isalpha() and content.endswith(head.lstrip() + name[:count])
        for name, head in heads.items()
        if head.strip()
        for count in range(_FRAGMENT, len(name))
    )


def ends_in_opening(content: str, openings: Iterable[str]) -> bool:
    """Whether content ends with markup that precedes calls in other turns: it belongs to the call.

    For `Let me see.<call>` and `<mull></mull><call>`, that is `<call>`.
    """
    shared = (common_suffix(content.rstrip(), opening.rstrip()).strip() for opening in openings)
    return any(len(text) >= _SHORTEST and MARKUP_SIGN.search(text) for text in shared)


_PAIRS = {'"': '"', "'": "'", "`": "`", "*": "*", "(": ")", "“": "”"}
"""The signs that sentences put around a word."""
_MARK = re.compile(r'[{}\[\]<>=|#@$\\"]')
_BEFORE = re.compile(r"[^\w\s]*\n*\Z")
_AFTER = re.compile(r"\n*[^\w\s]*")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def marked_word(text: str, offered: OfferedTools) -> str:
    """Return a name or keys of a tool next to markup, or an empty text.

    `look", "with": ` is the rest of a call; "`look`", look() and "look" are words of sentences.
    """
    for seen in offered.names_in(text):
        before, after, quoted = _word_surroundings(text, seen)
        if quoted:
            # Markup may precede the space: `"name": "look"`, but not in `"note", "look"`.
            before = before.rstrip(" ").removesuffix('",')
        if _MARK.search(_BEFORE.findall(before)[0] + _AFTER.findall(after.removeprefix("()"))[0]):
            return seen.word
    prose = _FENCED.sub("", text)
    if _is_json(prose):
        return ""
    for name in offered.names:
        keys = [
            key.word for key in offered.keys_in(name, prose, 0, len(prose)) if _is_key(prose, key)
        ]
        if len(keys) > 1:
            return " and ".join(keys[:2])
    return ""


def _word_surroundings(text: str, word: WordSeen) -> tuple[str, str, bool]:
    """Return the texts around a word and its quotes, and whether it has quotes."""
    start, end = word.start, word.end
    while start and end < len(text) and _PAIRS.get(text[start - 1]) == text[end]:
        start, end = start - 1, end + 1
    return text[:start], text[end:], start < word.start


def _is_key(text: str, key: WordSeen) -> bool:
    _, after, quoted = _word_surroundings(text, key)
    return re.match(r" *:?=|[:>]" if quoted else r" *:?=|[>]", after) is not None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@dataclass(slots=True)
class _ValueSurroundings:
    """The literals around values."""

    middles: dict[JsonType, str] = field(default_factory=dict[JsonType, str])
    """The literal between a key and a value of this type, e.g. `{INTEGER: ": "}`."""
    rests: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])
    """The texts after values that are recognized by themselves, by place, with their counts, e.g.
    `{"end": {" |": 4}}`."""
    string_middle: str = ""
    """The literal between a key and a string, e.g. `": "`."""
    string_rests: dict[str, str] = field(default_factory=dict[str, str])
    """The literals after strings, by place, e.g. `{"end": " |"}`."""


def entry_calls(
    texts: Sequence[tuple[str, int]], offered: OfferedTools, escape: StringEscape, odd: int = MANY
) -> list[list[SightedCall]]:
    """Return the calls of each text from its offset on, as far as their edges are found.

    One in `odd` calls may be opened otherwise.
    """
    sightings = keys_sighted(texts, offered, odd)
    gaps = list(_gaps_after_keys(sightings, offered, escape))
    surroundings = _value_surroundings(gaps)
    values: dict[int, dict[str, tuple[Json, int]]] = {}
    spoiled: set[int] = set()
    for gap in gaps:
        value = _read_value(gap, surroundings)
        if value is None:
            spoiled.add(gap.sighting)
        else:
            found, end = value
            values.setdefault(gap.sighting, {})[gap.key.word] = (found, gap.key.end + end)
    calls: list[list[SightedCall]] = [[] for _ in texts]
    # An output with one unreadable value would teach a call with a wrong argument.
    broken = {sightings[at].output for at in spoiled}
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


def _gaps_after_keys(
    sightings: Sequence[KeysSighted], offered: OfferedTools, escape: StringEscape
) -> Iterator[KeyGap]:
    for at, sighting in enumerate(sightings):
        for number, key in enumerate(sighting.keys):
            following = sighting.keys[number + 1 : number + 2]
            end = following[0].start if following else sighting.end
            lead = "".join(sighting.leads[number + 1 : number + 2])
            where = f"key after {lead}" if following else "end" if sighting.last else "call"
            kinds = offered.kinds(sighting.name.word, key.word)
            yield KeyGap(at, key, sighting.text[key.end : end], where, kinds, escape)


def _value_surroundings(gaps: Sequence[KeyGap]) -> _ValueSurroundings:
    """Find the literals around values: first those recognized by themselves, then strings."""
    surroundings = _ValueSurroundings()
    literal = [gap for gap in gaps if JsonType.STRING not in gap.kinds]
    middles: dict[JsonType, Counter[str]] = {}
    for gap in literal:
        for value, start, _ in literals_in(gap):
            middles.setdefault(json_type(value), Counter())[gap.text[:start]] += 1
    # A word of the markup may look like a value and be nearer to the key: `flag="false">false`.
    surroundings.middles = {
        kind: max(counted, key=lambda middle: (counted[middle], len(middle)))
        for kind, counted in middles.items()
    }
    for gap in literal:
        for _, start, end in literals_in(gap):
            if gap.text[:start] in surroundings.middles.values():
                surroundings.rests.setdefault(gap.where, Counter())[gap.text[end:]] += 1
                break
    # Prefer values that can only be strings, since others may be numbers.
    strings = [gap for gap in gaps if gap.kinds == TEXT_ALONE]
    strings = strings or [gap for gap in gaps if JsonType.STRING in gap.kinds]
    surroundings.string_middle = _string_middle(strings, surroundings)
    surroundings.string_rests = _string_rests(strings, surroundings)
    return surroundings


def _string_middle(strings: Sequence[KeyGap], surroundings: _ValueSurroundings) -> str:
    if len(strings) > 1:
        return shared_beginning([gap.text for gap in strings])
    usual = max(surroundings.middles.values(), key=len, default="")
    rest = strings[0].text.removeprefix(usual) if strings else ""
    return usual + (rest[:1] if rest[:1] in ("'", '"') else "")


def _string_rests(strings: Sequence[KeyGap], surroundings: _ValueSurroundings) -> dict[str, str]:
    """Return the literals after strings, by place; all of them begin alike."""
    by_place: dict[str, list[str]] = {}
    for gap in strings:
        by_place.setdefault(gap.where, []).append(gap.text.removeprefix(surroundings.string_middle))
    ends: dict[str, str] = {}
    for where, texts in by_place.items():
        known = [text for text, _ in surroundings.rests.get(where, Counter[str]()).most_common(1)]
        ends[where] = shared_end(texts if len(texts) > 1 else [*texts, *known])
    if not ends:
        return {}
    first = max(ends, key=lambda where: len(by_place[where]))
    return {where: _aligned_end(end, ends[first]) for where, end in ends.items()}


def _aligned_end(end: str, model: str) -> str:
    """Cut off a shared end of values, by the literal that follows values elsewhere."""
    shared = [prefix_length(end[at:], model) for at in range(len(end))]
    best = max(range(len(end)), key=lambda at: (shared[at], -at), default=0)
    return end[best:] if shared[best:] and shared[best] else end


def _read_value(gap: KeyGap, surroundings: _ValueSurroundings) -> tuple[Json, int] | None:
    """Return the value of a gap and its end offset in the gap, or None."""
    string = _read_string(gap, surroundings) if JsonType.STRING in gap.kinds else None
    if gap.kinds == TEXT_ALONE:
        return string
    # One literal may begin with another, so try the longest first.
    for middle in sorted(set(surroundings.middles.values()), key=len, reverse=True):
        found = next(literals_in(gap, len(middle)), None) if gap.text.startswith(middle) else None
        if (
            found is not None
            and found[1] == len(middle)
            and _rest_fits(gap, found[2], surroundings)
        ):
            return found[0], found[2]
    return string


def _rest_fits(gap: KeyGap, end: int, surroundings: _ValueSurroundings) -> bool:
    """Whether a literal that may begin a string is followed by text that follows other values."""
    known = surroundings.rests.get(gap.where)
    return JsonType.STRING not in gap.kinds or not known or gap.text[end:] in known


def _read_string(gap: KeyGap, surroundings: _ValueSurroundings) -> tuple[Json, int] | None:
    middle, rest = surroundings.string_middle, surroundings.string_rests.get(gap.where, "")
    if gap.escape is StringEscape.PYTHON:
        # `repr` chooses its quotes by the string's content.
        middle, rest = middle.rstrip(_QUOTES), rest.lstrip(_QUOTES)
    if not gap.text.startswith(middle) or not rest or not gap.text.endswith(rest):
        return None
    end = len(gap.text) - len(rest)
    if end < len(middle):
        return None
    return StringText(escape=gap.escape).read(gap.text[len(middle) : end]), end


_QUOTES = "'\""
