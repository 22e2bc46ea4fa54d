"""Sight names, keys, values and ids of calls in outputs.

A call's name and the keys of its arguments are words of the tools; `keys_sighted` finds them, and
`literals_in` the values between keys that are recognized by themselves. All other text is markup,
except an id: a word that differs in nearly every call, which `with_ids` finds. Of two outputs

    <use look #c41> city: Oslo | days: 3 |
    <use note #c97> text: Ask | days: 5 |

`look`, `note` and the keys are known, `<use ` precedes every name, ` | ` and `: ` surround keys, 3
and 5 are numbers; `c41` and `c97` vary between fields, so they are ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.string_notation import StringEscape

from .example_alignment import escaped_value_at, value_at
from .examples import NAME_MARK, with_word_mark
from .outputs import ODD, OfferedTools, WordSeen, shared_beginning, shared_end

# Names of tools in outputs, and the keys of their schemas after them.
#
# The markup around them is shared by nearly all calls. It may name the type of the value:
# `<str city>` and `<val days>`.


TEXT_ALONE = frozenset({JsonType.STRING})
MANY = 3
"""One in this many sightings may be a word that only looks like a call or a key."""


@dataclass(slots=True)
class KeysSighted:
    """A name, and the keys after it."""

    output: int
    """The number of the output, from 0."""
    text: str
    """The whole text of its turn, e.g. `"<|asst|>[do look(city='Oslo', days=3)]<|eot|>"`."""
    start: int
    """The offset of the output in the text, after the part that the prompt has written, here 8."""
    name: WordSeen
    """The place of the name, e.g. of `get_weather`."""
    keys: list[WordSeen]
    """The places of its keys, e.g. of `city` and `days`."""
    end: int = 0
    """The offset where the next call begins, or the text ends, here 45."""
    last: bool = True
    """Whether no call follows in this output."""
    leads: list[str] = field(default_factory=list[str])
    """The markup before each key, e.g. `" | "`."""


def keys_sighted(
    texts: Sequence[tuple[str, int]], offered: OfferedTools, odd: int = MANY
) -> list[KeysSighted]:
    """Find the names in the markup that most names with keys have, and those keys.

    One in `odd` names may have other markup.
    """
    seen: list[KeysSighted] = []
    for number, (text, start) in enumerate(texts):
        names = [name for name in offered.names_in(text) if name.start >= start]
        for at, name in enumerate(names):
            end = names[at + 1].start if at + 1 < len(names) else len(text)
            keys = list(offered.keys_in(name.word, text, name.end, end))
            seen.append(KeysSighted(number, text, start, name, keys, end))
    # A name with keys after it is probably a call, whose markup identifies the other calls.
    keyed = [sighting for sighting in seen if sighting.keys]
    # The first call of a turn follows content or a section's opening, later ones a separator.
    firsts = {sighting.output: sighting for sighting in reversed(keyed)}.values()
    later = [sighting for sighting in keyed if sighting not in firsts]
    befores = tuple(
        shared_end([_text_before(sighting) for sighting in some], odd)
        for some in (firsts, later)
        if some
    )
    first_keys = [next(_key_leads(sighting, offered)) for sighting in keyed]
    between = _markup_of_leads(first_keys, shared_beginning, str.startswith)
    kept = [sighting for sighting in seen if _has_usual_markup(sighting, befores, between)]
    for at, sighting in enumerate(kept):
        following = kept[at + 1] if at + 1 < len(kept) else None
        sighting.last = following is None or following.output != sighting.output
        sighting.end = (
            len(sighting.text) if following is None or sighting.last else following.name.start
        )
        sighting.keys = list(
            offered.keys_in(sighting.name.word, sighting.text, sighting.name.end, sighting.end)
        )
    # Once calls are known, words inside values are no longer mistaken for keys.
    _keep_true_keys(kept, offered)
    return kept


class _KeyLead(NamedTuple):
    """The text before a key, from the name or the previous key on."""

    text: str
    """E.g. `" | "`."""
    kinds: frozenset[JsonType]
    """The types of the value after the key, e.g. string alone."""


def _markup_of_leads(
    leads: Sequence[_KeyLead],
    shared: Callable[[Sequence[str], int], str],
    goes_on: Callable[[str, str], bool],
) -> tuple[str, ...]:
    """Return the markup that nearly all leads share, by the type of the value if it names that.

    `><str ` before strings and `><val ` before others share `><`, and both are markup.
    """
    # Tags may be named for the type of the value, and then share only their front.
    every = shared([lead.text for lead in leads], MANY)
    strings = [lead.text for lead in leads if lead.kinds == TEXT_ALONE]
    others = [lead.text for lead in leads if JsonType.STRING not in lead.kinds]
    own = [_text_shared_by_all(texts, shared) for texts in (strings, others) if len(texts) > 1]
    if len(own) < len((strings, others)) or not all(map(str.strip, own)):
        return (every,)
    one, other = own
    if goes_on(one, other) or goes_on(other, one):
        return (every,)
    return tuple(dict.fromkeys(markup for markup in (*own, every) if markup.strip()))


def _text_shared_by_all(texts: Sequence[str], shared: Callable[[Sequence[str], int], str]) -> str:
    """Return the text that all or nearly all share: a word of a value may look like a key."""
    every = shared(texts, len(texts) + 1)
    return every if every.strip() else shared(texts, ODD)


_CONTEXT = 200


def _text_before(sighting: KeysSighted) -> str:
    return sighting.text[max(sighting.start, sighting.name.start - _CONTEXT) : sighting.name.start]


def _has_usual_markup(
    sighting: KeysSighted, befores: tuple[str, ...], between: tuple[str, ...]
) -> bool:
    if not _text_before(sighting).endswith(befores):
        return False
    follows = sighting.text.startswith(between, sighting.name.end)
    # A call without arguments has other text after its name, so the text before it has to suffice.
    return follows if sighting.keys or not all(map(str.strip, befores)) else True


def _keep_true_keys(sightings: Sequence[KeysSighted], offered: OfferedTools) -> None:
    """Remove words of values that only look like keys: their markup differs from most."""
    after = shared_beginning(
        [sighting.text[key.end :][:_CONTEXT] for sighting in sightings for key in sighting.keys],
        MANY,
    )
    rows = [list(_key_leads(sighting, offered)) for sighting in sightings]
    first = [row[0] for row in rows if row]
    later = [lead for row in rows for lead in row[1:]]
    befores = [
        before
        for some in (first, later)
        if some
        for before in _markup_of_leads(some, shared_end, str.endswith)
    ]
    # The longest fits best, since one text may end with another.
    befores.sort(key=len, reverse=True)
    for sighting, row in zip(sightings, rows, strict=True):
        kept = [
            (key, next(before for before in befores if lead.text.endswith(before)))
            for key, lead in zip(sighting.keys, row, strict=True)
            if sighting.text.startswith(after, key.end) and lead.text.endswith(tuple(befores))
        ]
        sighting.keys, sighting.leads = [key for key, _ in kept], [lead for _, lead in kept]


def _key_leads(sighting: KeysSighted, offered: OfferedTools) -> Iterator[_KeyLead]:
    """Yield the text before each key."""
    for one, other in pairwise([sighting.name, *sighting.keys]):
        kinds = offered.kinds(sighting.name.word, other.word)
        yield _KeyLead(sighting.text[one.end : other.start], kinds)


# Values recognized by themselves: numbers, words for true or null, lists and objects.


@dataclass(frozen=True, slots=True)
class KeyGap:
    """The text between a key and the next key, or the end of its call."""

    sighting: int
    """The number of the call among all calls sighted, from 0."""
    key: WordSeen
    """The place of the key, e.g. of `city`."""
    text: str
    """E.g. `": Oslo | "`, before `days`."""
    where: str
    """The next thing: `"end"`, `"call"`, or `"key after "` and the markup before that key."""
    kinds: frozenset[JsonType]
    """The types that the schema allows for the value, e.g. `{INTEGER}` for `days`."""
    escape: StringEscape
    """The escape of strings, and of other values in their place, e.g. `StringEscape.PYTHON`."""


_LITERAL = re.compile(
    r"(?<![\w.])(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?Infinity|NaN|true|false|null|True|False|None)(?!\w)"
    r"|[\[{]"
)
_WORDS: Mapping[str, Json] = {"True": True, "False": False, "None": None}


def literals_in(gap: KeyGap, start: int = 0) -> Iterator[tuple[Json, int, int]]:
    """Yield the recognizable values in a gap that have a type of the schema, with their span."""
    for match in _LITERAL.finditer(gap.text, start):
        found = _read_literal(gap.text, match, gap.escape)
        if found is not None and _kind_allowed(found[0], gap.kinds):
            yield found[0], match.start(), found[1]


def _kind_allowed(value: Json, kinds: frozenset[JsonType]) -> bool:
    kind = json_type(value)
    return kind in kinds or (kind is JsonType.INTEGER and JsonType.NUMBER in kinds)


def _read_literal(text: str, match: re.Match[str], escape: StringEscape) -> tuple[Json, int] | None:
    word, start = match.group(), match.start()
    # `True` and `None` are Python's words, `true` and `null` JSON's.
    if word in _WORDS:
        return _WORDS[word], match.end()
    found = value_at(text, start)
    return found or escaped_value_at(text, start, escape) if word in "[{" else found


@dataclass(frozen=True, slots=True)
class SightedCall:
    """A call in an output."""

    name: str
    """E.g. `look`."""
    arguments: dict[str, Json]
    """E.g. `{"city": "Oslo"}`."""
    name_at: tuple[int, int]
    """The span of the name, e.g. `(6, 10)` in `<call>look`."""
    arguments_at: tuple[int, int]
    """The span of the arguments, e.g. `(17, 36)` in `<|asst|>[do look(city='Oslo', days=3)]`;
    without any, the end of the name, twice."""
    id_at: tuple[int, int] | None = None
    """The span of the id, e.g. of `call_1`, or None if none was found."""

    @property
    def places(self) -> list[tuple[int, int]]:
        """The spans of its fields, in the order of the text."""
        known = [self.arguments_at]
        if not self.named_by_id:
            known.append(self.name_at)
        if self.id_at is not None:
            known.append(self.id_at)
        return sorted(known)

    @property
    def named_by_id(self) -> bool:
        """Whether the name is inside the id."""
        start, end = self.id_at or (0, 0)
        return start <= self.name_at[0] < end

    @property
    def start(self) -> int:
        """The offset where its first field begins."""
        return self.places[0][0]

    @property
    def end(self) -> int:
        """The offset where its last field ends."""
        return max(end for _, end in self.places)

    @property
    def order(self) -> tuple[RowSlot, ...]:
        """Its fields in the order of the text, including absent arguments."""
        named = {self.name_at: RowSlot.NAME, self.arguments_at: RowSlot.ARGUMENTS}
        if self.id_at is not None:
            named[self.id_at] = RowSlot.ID
        return tuple(named[place] for place in self.places)


@dataclass(frozen=True, slots=True)
class SightedOutput:
    """A turn's text, the offset of the output in it, and its calls."""

    text: str
    """The whole text of its turn, e.g. `"<|asst|>[do look(city='Oslo', days=3)]<|eot|>"`."""
    start: int
    """The offset of the output in the text, here 8."""
    calls: tuple[SightedCall, ...]
    """Its calls in the order of the text, here one of `look`, whose name is at `(12, 16)`."""

    def before(self, at: int) -> str:
        """Return the text before a call, from the end of the previous call."""
        begin = self.calls[at - 1].end if at else self.start
        return self.text[begin : self.calls[at].start]

    def after(self, at: int) -> str:
        """Return the text after a call, up to the next one."""
        following = self.calls[at + 1 : at + 2]
        return self.text[self.calls[at].end : following[0].start if following else len(self.text)]


_Place: TypeAlias = "Callable[[SightedOutput, int], tuple[int, int] | None]"
_SHORTEST = 2
"""At least this much markup precedes a word that may be an id."""
_ID = re.compile(r"[\w][\w.:-]*")
_ID_AT_END = re.compile(r"[\w][\w.:-]*$")


def with_ids(outputs: Sequence[SightedOutput]) -> Iterator[Sequence[SightedOutput]]:
    """Yield outputs with ids between, before, after the fields, around the name; last, without."""
    # Ids between two fields are the most certain, ids around a name the least.
    for find in (_ids_between_fields, _ids_before_calls, _ids_after_calls, _ids_around_names):
        found = find(outputs)
        if found is not None:
            yield found
    yield outputs


def _each_call(outputs: Sequence[SightedOutput]) -> list[tuple[SightedOutput, int]]:
    return [(output, at) for output in outputs for at in range(len(output.calls))]


def _ids_between_fields(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    """Find ids between the name and the arguments of each call, or return None."""
    texts = [
        with_word_mark(text, call.name, NAME_MARK)
        for output in outputs
        for call in output.calls
        for (_, end), (start, _) in pairwise(call.places)
        if (text := output.text[end:start])
    ]
    # The same text in every call is markup.
    if len(set(texts)) == 1:
        return None
    before, after = shared_beginning(texts), shared_end(texts)
    if not before.strip() and not after.strip():
        return None

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        first, second = output.calls[at].places[:2]
        return _id_span(output.text, first[1] + len(before), second[0] - len(after))

    return _with_ids_at(outputs, place)


def _ids_before_calls(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    """Find ids as the last word before each call, ahead of a common marker, or return None."""
    texts = [output.before(at) for output, at in _each_call(outputs)]
    # The common end of the texts before calls is markup; an id can only be the word before it.
    last = shared_end(texts)
    rests = [text.removesuffix(last) for text in texts]
    found = [(rest, match) for rest in rests if (match := _ID_AT_END.search(rest))]
    if not last.strip() or not _mostly_differ([match.group() for _, match in found], len(rests)):
        return None
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

    return _with_ids_at(outputs, place)


def _ids_after_calls(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    """Find ids as the first word after each call, after a common marker, or return None."""
    texts = [output.after(at) for output, at in _each_call(outputs)]
    # The common beginning of the texts after calls is markup; an id can only be the word after it.
    first = shared_beginning(texts)
    rests = [text.removeprefix(first) for text in texts]
    found = [(rest, match) for rest in rests if (match := _ID.match(rest))]
    if not first.strip() or not _mostly_differ([match.group() for _, match in found], len(rests)):
        return None
    following = shared_beginning([rest[match.end() :] for rest, match in found])
    if not following.strip():
        return None

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        begin = output.calls[at].end + len(first)
        match = _ID.match(output.text, begin)
        return (begin, match.end()) if match else None

    return _with_ids_at(outputs, place)


_ID_BEFORE = re.compile(r"[\w.:/~#@-]*$")
_ID_AFTER = re.compile(r"[\w.:/~#@-]*")


def _ids_around_names(outputs: Sequence[SightedOutput]) -> list[SightedOutput] | None:
    """Find ids that contain the name, as `call_7.look`."""

    def place(output: SightedOutput, at: int) -> tuple[int, int] | None:
        call = output.calls[at]
        start, end = call.name_at
        begin = output.calls[at - 1].end if at else output.start
        before = _ID_BEFORE.search(output.text[begin:start])
        after = _ID_AFTER.match(output.text, end)
        if before is None or after is None or after.end() - end + len(before.group()) == 0:
            return None
        return start - len(before.group()), after.end()

    return _with_ids_at(outputs, place)


def _mostly_differ(words: Sequence[str], calls: int) -> bool:
    """Whether more than half of the calls have a word, and more than half of the words differ."""
    return 2 * len(words) > calls and 2 * len(set(words)) > len(words) and len(set(words)) > 1


def _id_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    return (start, end) if start < end and _ID.fullmatch(text, start, end) else None


def _with_ids_at(outputs: Sequence[SightedOutput], place: _Place) -> list[SightedOutput] | None:
    """Set the id of every call; return None if few have one, or it is the call's number."""
    found: list[SightedOutput] = []
    words: list[str] = []
    numbers: list[bool] = []
    for output in outputs:
        calls: list[SightedCall] = []
        for at, call in enumerate(output.calls):
            span = place(output, at)
            calls.append(replace(call, id_at=span))
            if span is not None:
                word = with_word_mark(output.text[slice(*span)], call.name, NAME_MARK)
                words.append(word)
                # A word that counts calls is an index, not an id.
                numbers.append(word in (str(at), str(at + 1)))
        found.append(replace(output, calls=tuple(calls)))
    if all(numbers) or not _mostly_differ(words, sum(len(output.calls) for output in outputs)):
        return None
    return found
