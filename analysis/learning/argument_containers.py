"""Learn the notation of containers from their entries, and of a call's arguments as a whole.

`learn_types` learns entries by the type of their value, containers inside included, and
`container_notation` builds the container's notation from them. `learn_argument_list` and
`learn_enclosure` do this for the arguments of a call. For example a template that writes them by
`tojson`, as `<call>qkphffqx {"mcdsbpxt": "zhvwxqzm"}</call>`, gives

    repetition            prefix '…qkphffqx {', open '"', separator ', ', close '"', suffix '}…'
    entry of a string     ('"', KEY, '": "', VALUE, '"')
    entry of an integer   ('"', KEY, '": ', VALUE)
    container             entries ('"', KEY, '": ', VALUE); strings between '"' and '"'
    enclosure             a JSON object, from '{' to '}'

The quotes differ by type, so they belong to the string. An object inside the arguments is found to
be JSON; T6 concludes that the arguments are such an object too, brackets included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from msgspec import structs
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape, StringText

from .argument_notation import (
    NUMBERS,
    EntryOrder,
    Place,
    Site,
    Strings,
    TypedRows,
    every_type,
    hostile_string,
    learn_entries,
    learn_key,
    learn_strings,
    learn_typed_rows,
    recognize_notation,
    rich_array,
    rich_object,
)
from .call_rows import SeenSlot, match_row, plain_row, wrap_in
from .observer import Observer
from .prober import Sentinels

_DEPTH = 1
"""Containers inside a container are learned to this depth; deeper ones are assumed alike."""


def learn_types(
    place: Place, entries: EntryOrder, strings: Strings, depth: int = _DEPTH
) -> TypedRows:
    """Learn the notation of entries by the type of their value, and of containers inside."""
    types = learn_typed_rows(place, entries, strings.row)
    # Entries of an innermost container are learned, but not containers in them.
    if not depth:
        return types
    found = {
        kind: _learn_nested(place, entries, row, kind, depth)
        for kind in (JsonType.ARRAY, JsonType.OBJECT)
        if (row := types.rows.get(kind)) is not None
    }
    nested = {kind: container for kind, container in found.items() if container is not None}
    return replace(types, containers=nested)


def _learn_nested(
    place: Place, entries: EntryOrder, row: Row, kind: JsonType, depth: int
) -> ContainerNotation | None:
    """Learn an array or object inside arguments: a known notation, or one from its own items."""
    keyed = kind is JsonType.OBJECT

    def site(value: Json) -> str | None:
        entry = entries.inside(place.site(place.one(value, kind)))
        return None if entry is None else match_row(row, entry, place.key(kind))

    marks = place.sentinels
    rich: Json = rich_object(marks) if keyed else rich_array(marks)
    # A value of every type, unsorted: at most one known notation renders it like this.
    text = site(rich)
    margin = entries.margin + entries.indent
    known = (
        None
        if text is None
        else recognize_notation(rich, text, margin=margin, indent=entries.indent)
    )
    if known is not None:
        return structs.replace(known.object if keyed else known.array, values=known)
    # Not a notation of Python or JSON, so learn it from its own items, like the arguments.
    return _learn_container(Place(site, marks, keyed), depth - 1)


def _learn_container(place: Place, depth: int) -> ContainerNotation | None:
    """Learn a container by its entries, as the phases learn the arguments."""
    entries = learn_entries(place)
    if entries is None:
        return None
    key = place.key(JsonType.STRING)
    slot = None if key is None else SeenSlot(RowSlot.KEY, key)
    strings = learn_strings(place, entries, slot)
    if strings is None:
        return None
    types = learn_types(place, entries, strings, depth)
    cut = entries.repetition
    return structs.replace(
        container_notation(
            entries, strings, types, learn_key(place) if place.keyed else StringText()
        ),
        open=cut.prefix,
        close=cut.suffix,
        empty=place.site({} if place.keyed else []) or "",
    )


def container_notation(
    entries: EntryOrder, strings: Strings, types: TypedRows, key: StringText
) -> ContainerNotation:
    """Build the container's notation, without the brackets around its entries."""
    # `"K": V` is the rule, and `"K": "V"` the same with quotes that belong to the string.
    default = plain_row(types.rows)
    signs = _own_signs(types, default)
    rows = {kind: signs[kind][2] if kind in signs else row for kind, row in types.rows.items()}
    return ContainerNotation(
        separator=entries.repetition.separator,
        entry=default,
        typed={kind: row for kind, row in rows.items() if row != default},
        key=key,
        order=entries.order,
        values=_value_notation(strings, types, signs),
    )


def known_object(types: TypedRows) -> ValueNotation | None:
    """Return the known notation of the objects inside a container."""
    container = types.containers.get(JsonType.OBJECT)
    values = None if container is None else container.values
    if (
        # A container that differs from its own values' notation is not a known one.
        container is None
        or values is None
        or structs.replace(container, values=None) != values.object
    ):
        return None
    return values


def writes_alike(
    members: ContainerNotation, notation: ValueNotation, entries: EntryOrder, marks: Sentinels
) -> bool:
    """Whether objects of a known notation are written as these pieces.

    Then their container is such an object: `{"a": {"b": 1}}` is JSON, `a={"b": 1}` contains some.
    """
    line, end = entries.margin + entries.indent, entries.margin
    # T6 covers names that are escaped: their quotes may depend on the name.
    rich = {name: value for name, value in every_type(marks).items() if name.isalnum()}
    body = members.write(list(rich.items()), members.values or notation, line)
    if notation.object.indent:
        # With an indent, `json.dumps` breaks the line after the bracket, too.
        body = f"\n{line}{body}\n{end}"
    return notation.write(rich, end) == f"{notation.object.open}{body}{notation.object.close}"


_Signs: TypeAlias = Mapping[JsonType, tuple[str, str, Row]]
"""The literals around a value that depend on its type, and the row without them."""


def _own_signs(types: TypedRows, default: Row) -> _Signs:
    """Separate the literals of strings and numbers from those around any value."""
    rows = types.rows
    plains = [row for row in (default, rows.get(JsonType.ARRAY), rows.get(JsonType.OBJECT)) if row]
    signs: dict[JsonType, tuple[str, str, Row]] = {}
    for kind in (JsonType.STRING, *NUMBERS):
        row = rows.get(kind)
        if row is not None:
            wraps = ((wrap_in(row, plain), plain) for plain in plains)
            found = ((*wrap, plain) for wrap, plain in wraps if wrap is not None)
            signs[kind] = next(found, ("", "", row))
    numbers = [kind for kind in NUMBERS if kind in signs]
    # Integers and floats share one notation; a difference would come from their digits.
    if len({signs[kind][:2] for kind in numbers}) > 1:
        for kind in numbers:
            del signs[kind]
    return signs


def _value_notation(strings: Strings, types: TypedRows, signs: _Signs) -> ValueNotation:
    """Return the notation of the values in a container."""
    usual = json_notation()
    text = strings.text
    if text.escape is not StringEscape.PYTHON:
        # `repr` chooses between two quotes by the string, so its quotes are not literals.
        opening, close, _ = signs[JsonType.STRING]
        text = structs.replace(text, open=opening, close=close)
    number = next((StringText(*signs[kind][:2]) for kind in NUMBERS if kind in signs), StringText())
    outer = structs.replace(
        usual,
        string=text,
        number=number,
        true=types.words.get("true", usual.true),
        false=types.words.get("false", usual.false),
        null=types.words.get("null", usual.null),
        array=types.containers.get(JsonType.ARRAY, usual.array),
        object=types.containers.get(JsonType.OBJECT, usual.object),
    )
    return structs.replace(
        outer,
        array=_with_shared_values(outer.array, outer),
        object=_with_shared_values(outer.object, outer),
    )


def _with_shared_values(container: ContainerNotation, outer: ValueNotation) -> ContainerNotation:
    """Let values inside a learned container be written as they were seen, at every depth."""
    inner = container.values
    if inner is None or inner.is_json or inner == python_notation():
        return container
    # Equal notations refer to the outer one, so that any depth is written alike.
    plain = structs.replace(inner, array=outer.array, object=outer.object)
    if plain == outer:
        return structs.replace(container, values=None)
    if structs.replace(plain, null=outer.null) == outer:
        row = container.row(JsonType.NULL)
        if row is None:
            return structs.replace(container, values=None)
        own = tuple(inner.null if piece is RowSlot.VALUE else piece for piece in row)
        typed = {**container.typed, JsonType.NULL: tuple(piece for piece in own if piece)}
        return structs.replace(container, values=None, typed=typed)
    nested = structs.replace(
        inner,
        array=structs.replace(outer.array, values=None),
        object=structs.replace(outer.object, values=None),
    )
    return structs.replace(container, values=nested)


# The place of a call's arguments, and whether they are one value.


class SeenArguments(NamedTuple):
    """How the arguments of a call follow one another."""

    entries: EntryOrder
    r"""The literals around the arguments, e.g. `"\n"` between two; `prefix` begins with the turn.
    """
    verbatim: bool = False
    """Whether the caller's own JSON text is pasted, as by `{{ call.arguments }}`."""
    quoted: tuple[str, str] | None = None
    r"""The literals around a JSON string that holds the arguments, as in `"arguments":
    "{\"city\": \"Oslo\"}"`, or None if there is none."""

    def place(self, observer: Observer) -> Place:
        """Return the place of the arguments, read without the string around them."""
        return _arguments_place(observer, self.quoted)


def learn_argument_list(observer: Observer) -> SeenArguments | None:
    """Learn how arguments follow one another, or return None if they cannot be found."""
    place = _arguments_place(observer, None)
    one = place.strings(1)
    text = place.site(one) or ""
    as_string = observer.prober.shape.arguments_as_string
    # The template got JSON text; one that parses it first would render other spacing.
    verbatim = as_string and json.dumps(one) in text
    quoted = None if verbatim else _json_string_quotes(one, text)
    entries = learn_entries(_arguments_place(observer, quoted))
    return None if entries is None else SeenArguments(entries, verbatim, quoted)


def _json_string_quotes(arguments: Json, text: str) -> tuple[str, str] | None:
    """Find the literals around JSON text that is the content of a JSON string."""
    # `tojson` and `json.dumps` with separators are the two spacings of encoded objects.
    for colon in (": ", ":"):
        held = json.dumps(arguments, separators=(",", colon))
        before, found, after = text.partition(json.dumps(held))
        if found:
            return before, after
    return None


def _arguments_place(observer: Observer, quoted: tuple[str, str] | None) -> Place:
    def site(value: Json) -> str | None:
        return observer.text_of_arguments(value) if isinstance(value, dict) else None

    shown = site if quoted is None else _unquoted_site(site, *quoted)
    return Place(shown, observer.prober.sentinels, keyed=True)


def _unquoted_site(site: Site, before: str, after: str) -> Site:
    """Return a site that shows the content of a JSON string instead of the string."""

    def unquoted_text(value: Json) -> str | None:
        text = site(value)
        if text is None or not text.startswith(before) or not text.endswith(after):
            return None
        try:
            held = json.loads(text[len(before) : len(text) - len(after)])
        except ValueError:
            return None
        return f"{before}{held}{after}"

    return unquoted_text


class Enclosure(NamedTuple):
    """The brackets around a call's arguments."""

    notation: ValueNotation | None
    """The notation of objects whose brackets enclose the arguments, e.g. JSON's `{` and `}`, or
    None."""
    without: str | None = None
    """The turn of a call without arguments, if it lacks more than these, e.g. the line break
    after `<function=f>`; else None."""


def learn_enclosure(observer: Observer, listed: SeenArguments, types: TypedRows) -> Enclosure:
    """Learn the text of a call that remains without arguments."""
    place, cut = listed.place(observer), listed.entries.repetition
    one, text = place.strings(1), place.site(place.strings(1)) or ""
    known, rest = known_object(types), cut.prefix + cut.suffix
    if known is not None:
        before, found, after = text.partition(known.write(one, listed.entries.margin))
        # A call without arguments should have the empty object in their place, as `{}`.
        rest = f"{before}{known.object.empty}{after}" if found else rest
        known = known if found and _names_too(place, known, listed.entries.margin) else None
    differs = place.site({}) != rest
    return Enclosure(known, observer.text_of_arguments({}) if differs else None)


def _names_too(place: Place, notation: ValueNotation, margin: str) -> bool:
    """Whether the arguments' names are written as the keys of a known notation are."""
    strange: dict[str, Json] = {hostile_string(place.sentinels.keys[1]): place.sentinels.values[0]}
    # A template may escape keys of objects inside arguments, but not the names of arguments.
    text = place.site(strange)
    return text is None or notation.write(strange, margin) in text
