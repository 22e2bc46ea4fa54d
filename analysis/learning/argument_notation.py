r"""Learn notations at a site: a place whose value can be chosen and whose text can be seen.

The parts: the entries of a container and their order (`learn_entries`), strings (`learn_strings`,
from one string with every character that some notation escapes), the notations that Python itself
writes (`known_notations`, `recognize_notation`), the keys of an object (`learn_key`), and entries
with values of other types (`learn_typed_rows`). For example the arguments of a call, in
`fixtures/templates/a1-function-parameter.jinja`, are a site. With the values on the left it shows

    {"mcdsbpxt": "zhvwxqzm"}      …\n<parameter=mcdsbpxt>\nzhvwxqzm\n</parameter>\n…
    and "ksdgvjvq": "vqmrzxvk"    …\n</parameter>\n<parameter=ksdgvjvq>\n…: '\n' separates entries
    hostile_string("x")           …x"x'x\x…: every character as it is, so strings are verbatim
    {"rjfnbczf": True}            …<parameter=rjfnbczf>\nTrue\n…: the word for true is 'True'

so an entry is `'<parameter=' KEY '>\n' VALUE '\n</parameter>'`. Had the template written
`\n\n x\"x'x\\x…`, the notation would be JSON's; for `\n\n x&#34;x&#39;x…` it would be HTML's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import (
    ESCAPES_BY_RULE,
    StringEscape,
    StringGuard,
    StringText,
)
from autoparser.analysis.core.text_alignment import RepeatedText, find_slots, split_repetition
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges

from .call_rows import SeenSlot, cut_at, match_row, read_entry, without_equal_quotes
from .prober import Sentinels

# The entries of a container: arguments in a call, items of an array, members of an object.


Site: TypeAlias = Callable[[Json], "str | None"]
"""Renders the text of the place with this value, or None if the template raises."""


class Place(NamedTuple):
    """A container whose entries can be chosen: an array, or an object where `keyed`."""

    site: Site
    """Renders a container here, e.g. `{"a": "b"}`, and returns the text of the turn."""
    sentinels: Sentinels
    """The words of its keys and values, e.g. `mcdsbpxt` and `zhvwxqzm`."""
    keyed: bool
    """Whether the container is an object, as `{"a": "b"}` is; an array's items have no key."""

    def one(self, value: Json, kind: JsonType = JsonType.STRING) -> Json:
        """Return a container with one entry."""
        return {self.sentinels.typed_keys[kind]: value} if self.keyed else [value]

    def strings(self, count: int) -> Json:
        """Return a container with this many strings, its keys in descending order."""
        values = self.sentinels.values[:count]
        if self.keyed:
            return dict(zip(self.sentinels.keys, values, strict=False))
        return list(values)

    def key(self, kind: JsonType) -> str | None:
        """Return the key under which `one` puts a value of this type."""
        return self.sentinels.typed_keys[kind] if self.keyed else None


class EntryOrder(NamedTuple):
    """The literals around the entries of a container, and the order of the entries."""

    repetition: RepeatedText
    r"""E.g. open `"<parameter="`, separator `"\n"`, close `"\n</parameter>"`; `prefix` is the
    text before the first entry, `suffix` the text after the last one."""
    order: MemberOrder = MemberOrder.GIVEN
    """Whether entries are written as given or sorted by key, e.g. `MemberOrder.GIVEN`."""

    def inside(self, text: str | None) -> str | None:
        """Return the text of the entries without prefix and suffix."""
        if text is None:
            return None
        head, tail = self.repetition.prefix, self.repetition.suffix
        long_enough = len(text) >= len(head) + len(tail)
        if long_enough and text.startswith(head) and text.endswith(tail):
            return text[len(head) : len(text) - len(tail)]
        return None

    @property
    def margin(self) -> str:
        """The indent of the line on which the container ends, if that is a separate line."""
        return _line_begun(self.repetition.suffix)

    @property
    def indent(self) -> str:
        """The further indent of the line of an entry; empty if all is on one line."""
        separator = self.repetition.separator
        return _line_begun(separator[separator.find("\n") :]).removeprefix(self.margin)


def _line_begun(text: str) -> str:
    broken = re.match(r"\n([ \t]*)", text)
    return broken.group(1) if broken else ""


def learn_entries(place: Place) -> EntryOrder | None:
    """Learn the separator from one and two entries; return None if they cannot be found."""
    one = place.site(place.strings(1))
    if one is None:
        return None
    labels = _labels_of_place(place)
    single = find_slots(one, labels)
    # If the template drops the argument or its key, no entry is visible.
    if (RowSlot.VALUE, 0) not in single.slots or (
        place.keyed and (RowSlot.KEY, 0) not in single.slots
    ):
        return None
    # One entry shows no separator; if the second render fails, all text counts as surroundings.
    repetition = RepeatedText(single.literals[0], "", "", "", single.literals[-1])
    order = MemberOrder.GIVEN
    two = place.site(place.strings(2))
    pair = find_slots(two, labels) if two is not None else None
    if pair is not None and len(pair.slots) == 2 * len(single.slots):
        numbers = [number for _, number in pair.slots]
        # The first slot of the other entry; a key may be written twice in one entry.
        border = next(at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1])
        repetition = split_repetition(pair.literals[0], pair.literals[border], pair.literals[-1])
        # Keys are given in descending order, so that sorting turns them round.
        if place.keyed and numbers[0] == 1:
            order = _learn_sorting(place)
    return EntryOrder(repetition, order)


def _labels_of_place(place: Place) -> Mapping[str, tuple[RowSlot, int]]:
    marks = place.sentinels
    labels = {word: (RowSlot.VALUE, at) for at, word in enumerate(marks.values)}
    if place.keyed:
        labels |= {word: (RowSlot.KEY, at) for at, word in enumerate(marks.keys)}
    return labels


def _learn_sorting(place: Place) -> MemberOrder:
    """Return the order of members that were given descending and written ascending."""
    marks = place.sentinels
    # `B` is before `a` by code point, and after it if case is ignored, as by Jinja's `dictsort`.
    upper, lower = "B" + marks.keys[1], "a" + marks.keys[1]
    mixed: dict[str, Json] = {
        marks.keys[0]: marks.values[0],
        upper: marks.values[1],
        lower: marks.values[2],
    }
    text = place.site(mixed)
    if text is not None and text.find(upper) > text.find(lower):
        return MemberOrder.SORTED_FOLDED
    return MemberOrder.SORTED


class Strings(NamedTuple):
    """How an entry with a string is written."""

    row: Row
    r"""E.g. `("<parameter=", KEY, ">\n", VALUE, "\n</parameter>")`. Quotes are literals here:
    entries of other types show whether they belong to the string."""
    text: StringText
    """The escape between these literals, e.g. JSON's; Python's `repr` chooses its own quotes."""


def learn_strings(place: Place, entries: EntryOrder, key: SeenSlot | None) -> Strings | None:
    """Learn an entry with a string, or return None if a container with one entry differs."""
    word = place.sentinels.values[0]
    only = entries.inside(place.site(place.strings(1)))
    if only is None:
        return None
    row = cut_at((only,) if key is None else key.cut((only,)), word, RowSlot.VALUE)
    # Python's `repr` may quote the hostile string differently, so quotes need not be literals.
    for candidate in (row, without_equal_quotes(row)):
        if candidate is None:
            continue

        def render_string(value: str, row: Row = candidate) -> str | None:
            entry = entries.inside(place.site(place.one(value)))
            return None if entry is None else match_row(row, entry, place.key(JsonType.STRING))

        shown = render_string(hostile_string(word))
        text = None if shown is None else learn_text(shown, word, render_string)
        if text is not None:
            return Strings(row, text)
    return Strings(row, StringText())


_HOSTILE = ('"', "'", "\\", "\n", "\t", "<", ">", "&", "/", "é", "日", "😀", "{", "%")
_LEAD, _TRAIL = "\n\n ", " \n\n"


def hostile_string(word: str) -> str:
    """Return a string of `word` and every character that some notation escapes."""
    return _LEAD + word + "".join(char + word for char in _HOSTILE) + _TRAIL


def learn_text(
    rendering: str, word: str, write_again: Callable[[str], str | None]
) -> StringText | None:
    """Return how `hostile_string(word)` was written, or None if nothing explains it.

    `write_again` renders another string at the same place.
    """
    original = hostile_string(word)
    return (
        next((text for text in _one_rule_notations() if text.write(original) == rendering), None)
        or _read_guard(rendering, original, word, write_again)
        or _read_table(rendering, word)
    )


@cache
def _one_rule_notations() -> Sequence[StringText]:
    """Return every notation that is one rule, those that strip nothing first."""
    plain = [StringText(escape=escape) for escape in ESCAPES_BY_RULE]
    stripped = [
        StringText(escape=escape, edges=StrippedEdges(left, right))
        for escape, left, right in product(ESCAPES_BY_RULE, EdgeStrip, EdgeStrip)
    ]
    return plain + stripped


def _read_guard(
    rendering: str, original: str, word: str, write_again: Callable[[str], str | None]
) -> StringText | None:
    """Recognize a wrapper that is written around some strings only."""
    # CDATA, for example, encloses strings that contain `<` or `&` and leaves both unescaped.
    for escape in (StringEscape.VERBATIM, StringEscape.JSON):
        plain = StringText(escape=escape)
        opening, found, close = rendering.partition(plain.write(original))
        if not found:
            continue
        guarded = ""
        for char in _HOSTILE:
            sample = word + char + word
            # One string for each character: which ones make the template add the wrapper?
            if write_again(sample) == f"{opening}{plain.write(sample)}{close}":
                guarded += char
        return StringText(escape=escape, guard=StringGuard(guarded, opening, close))
    return None


def _read_table(rendering: str, word: str) -> StringText | None:
    """Read an escape for each character off the text between the words."""
    parts = rendering.split(word)
    # A word is missing or truncated, so nothing can be read between the words.
    if len(parts) != len(_HOSTILE) + 2:
        return None
    edges = _stripped_edges(parts[0], parts[-1])
    if edges is None:
        return None
    table = {char: part for char, part in zip(_HOSTILE, parts[1:-1], strict=True) if part != char}
    return StringText(escape=StringEscape.TABLE, edges=edges, table=table)


def _stripped_edges(lead: str, trail: str) -> StrippedEdges | None:
    for left, right in product(EdgeStrip, EdgeStrip):
        if left.left(_LEAD) == lead and right.right(_TRAIL) == trail:
            return StrippedEdges(left, right)
    return None


# The notations that Python itself writes, and values that distinguish them.


_ORDERS = (MemberOrder.GIVEN, MemberOrder.SORTED, MemberOrder.SORTED_FOLDED)


@lru_cache(maxsize=64)
def known_notations(
    *, comma: str = ", ", colon: str = ": ", indent: str = ""
) -> tuple[ValueNotation, ...]:
    """Return the notations that Python itself writes, the usual ones first."""
    as_json = tuple(
        json_notation(comma=comma, colon=colon, ascii_only=ascii_only, order=order, indent=indent)
        for order in _ORDERS
        for ascii_only in (False, True)
    )
    # `repr` writes no line breaks.
    return as_json if indent else (*as_json, python_notation())


def rich_object(sentinels: Sentinels) -> dict[str, Json]:
    """Return an object that tells the known notations apart: every type, nested, out of order."""
    keys, values = sentinels.keys, sentinels.values
    return {
        keys[0]: [1, hostile_string(values[0]), None],
        "B" + keys[1]: {"z": 2.5, "a": []},
        keys[2]: {},
        "a" + hostile_string(keys[1]): True,
    }


def rich_array(sentinels: Sentinels) -> list[Json]:
    """Return an array that tells the known notations apart."""
    return [1, hostile_string(sentinels.values[0]), None, False, [2.5, []], rich_object(sentinels)]


def every_type(sentinels: Sentinels) -> dict[str, Json]:
    """Return an object that has a member of each type, and the containers that tell most."""
    members = (hostile_string(sentinels.values[0]), 1, 2.5, True, False, None)
    named = {f"{sentinels.keys[0]}{at}": value for at, value in enumerate(members)}
    return {**named, **rich_object(sentinels)}


_SPACINGS = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"))


def recognize_notation(
    value: Json, text: str, *, margin: str = "", indent: str = ""
) -> ValueNotation | None:
    """Return the known notation that writes `value` as `text`, on separate lines if needed.

    `margin` is the indent of the line on which the value begins.
    """
    # One line is the usual case, even if entries of the outer container have lines of their own.
    for step in ("", indent) if indent else ("",):
        for comma, colon in _SPACINGS:
            for notation in known_notations(comma=comma, colon=colon, indent=step):
                if notation.write(value, margin) == text:
                    return notation
    return None


# The keys of an object, learned from one key with every character that is escaped.


def learn_key(place: Place) -> StringText:
    """Learn how an object writes its keys, by default verbatim.

    The quotes around a key are a part of its entry's row. With `key="K"` for the key `K`, and
    `key="a&amp;b"` for `a&b`, the key's own text is the text in the place of `K`.
    """
    marks = place.sentinels
    word = marks.keys[1]
    plain, value = marks.keys[0], marks.values[0]
    shown = place.site({plain: value})
    if shown is None or plain not in shown:
        return StringText()
    first, *others = (re.escape(piece) for piece in shown.split(plain))
    # Some formats write a key twice: `<K>value</K>`.
    around = re.compile("(?P<key>.*)".join((first, "(?P=key)".join(others))), re.DOTALL)

    def render_key(key: str) -> str | None:
        text = place.site({key: value})
        match = None if text is None else around.fullmatch(text)
        return None if match is None else match["key"]

    inside = render_key(hostile_string(word))
    text = None if inside is None else learn_text(inside, word, render_key)
    return text or StringText()


# Entries with values of other types, by their difference from an entry with a string.


NUMBERS = (JsonType.INTEGER, JsonType.NUMBER)


class TypedRows(Struct, frozen=True):
    """The rows of a container's entries by the type of their value."""

    rows: dict[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    r"""The row of each type, e.g. `("\"", KEY, "\": ", VALUE)` for integers, or None if the entry
    is not written; unknown types are missing."""
    words: dict[str, str] = field(default_factory=dict[str, str])
    """The words for true, false and null, e.g. `{"true": "True", "false": "False", "null":
    "None"}`."""
    refused: set[JsonType] = field(default_factory=set[JsonType])
    """The types on which the template raises, e.g. null."""
    containers: Mapping[JsonType, ContainerNotation] = field(
        default_factory=dict[JsonType, ContainerNotation]
    )
    """The notation of arrays and objects inside, e.g. JSON's, as far as it was learned."""


def typed_samples(marks: Sentinels) -> list[tuple[JsonType, Json]]:
    """Return values of every type but string; of two of one type, the usual one comes last."""
    word = marks.values[1]
    return [
        (JsonType.INTEGER, marks.integer),
        (JsonType.NUMBER, marks.number),
        (JsonType.BOOLEAN, False),
        (JsonType.BOOLEAN, True),
        (JsonType.NULL, None),
        (JsonType.ARRAY, [word]),
        (JsonType.OBJECT, {marks.keys[1]: word}),
    ]


def learn_typed_rows(place: Place, entries: EntryOrder, string_row: Row) -> TypedRows:
    """Learn the rows of all types, and the words of true, false and null.

    Numbers are sentinels themselves; other values are read by the rows that are known.
    """
    # Later types are read by the rows of earlier ones, so numbers come first.
    types = TypedRows({JsonType.STRING: string_row})
    bare = without_equal_quotes(string_row)
    for kind, value in typed_samples(place.sentinels):
        text = _only_entry(place, entries, types, value, kind)
        if text is None:
            continue
        key = place.key(kind)
        if kind in NUMBERS:
            # A number that is written in another way, such as 4.595749e6, gives no row.
            if str(value) in text:
                row = cut_at((text,), str(value), RowSlot.VALUE)
                types.rows[kind] = row if key is None else cut_at(row, key, RowSlot.KEY)
            continue
        known = [row for row in (types.rows.get(JsonType.INTEGER), string_row) if row]
        if bare is not None and bare not in known:
            known.append(bare)
        seen = read_entry(text, known, key)
        if seen is not None:
            types.rows[kind] = seen[0]
            if kind not in (JsonType.ARRAY, JsonType.OBJECT):
                types.words[json.dumps(value)] = seen[1]
    return types


def _only_entry(
    place: Place, entries: EntryOrder, types: TypedRows, value: Json, kind: JsonType
) -> str | None:
    """Return the text of the container's only entry, or None if none is shown."""
    text = place.site(place.one(value, kind))
    if text is None:
        types.refused.add(kind)
        return None
    key = place.key(kind)
    if key is not None and key not in text:
        types.rows[kind] = None
        return None
    return entries.inside(text)
