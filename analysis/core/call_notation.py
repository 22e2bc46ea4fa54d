"""How values are written: one recursive description for JSON, Python, tags and the rest."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from .conversation import Json
from .schema_keywords import JsonType, type_of
from .text_format import StringEscape, StringText


class RowSlot(StrEnum):
    """A place in a row of literals that a value fills."""

    NAME = "name"
    ID = "id"
    INDEX = "index"
    ARGUMENTS = "arguments"
    KEY = "key"
    VALUE = "value"


Row: TypeAlias = tuple[str | RowSlot, ...]
"""Literals and slots in the order they are written."""


class MemberOrder(StrEnum):
    """The order in which an object's members are written."""

    GIVEN = "as given"
    SORTED = "sorted"
    SORTED_FOLDED = "sorted, ignoring case"

    def arrange(self, keys: Sequence[str]) -> list[str]:
        """Put the keys into the order of writing."""
        if self is MemberOrder.GIVEN:
            return list(keys)
        return sorted(keys, key=str.lower if self is MemberOrder.SORTED_FOLDED else None)


class ContainerNotation(Struct, frozen=True):
    """How an array or an object is written."""

    open: str = ""
    close: str = ""
    separator: str = ""
    empty: str = ""
    entry: Row = (RowSlot.VALUE,)
    """How an item or a member is written."""
    typed: Mapping[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    """Entries that are written otherwise because of their value's type; None: not written."""
    key: StringText = field(default_factory=StringText)
    order: MemberOrder = MemberOrder.GIVEN
    indent: str = ""
    """What one level adds to the beginning of a line; empty: all on one line."""
    values: ValueNotation | None = None
    """How the values inside are written; None: like the value that holds them."""

    def row(self, kind: JsonType) -> Row | None:
        """Return how an entry whose value has this type is written, or None if it is not."""
        return self.typed.get(kind, self.entry)

    def write(
        self, entries: Sequence[tuple[str, Json]], outer: ValueNotation, margin: str = ""
    ) -> str:
        """Write an array's items or an object's members, with what encloses them."""
        inner = margin + self.indent
        written = [row for row in self._rows(entries, outer, inner) if row is not None]
        if not written:
            return self.empty
        if not self.indent:
            return f"{self.open}{self.separator.join(written)}{self.close}"
        line = "\n" + inner
        body = f"{self.separator}{line}".join(written)
        return f"{self.open}{line}{body}\n{margin}{self.close}"

    def _rows(
        self, entries: Sequence[tuple[str, Json]], outer: ValueNotation, margin: str
    ) -> Iterator[str | None]:
        values = self.values or outer
        if self.order is not MemberOrder.GIVEN:
            known = dict(entries)
            entries = [(key, known[key]) for key in self.order.arrange(list(known))]
        for key, value in entries:
            row = self.row(type_of(value))
            if row is None:
                yield None
                continue
            pieces: list[str] = []
            for piece in row:
                if piece is RowSlot.KEY:
                    pieces.append(self.key.write(key))
                elif piece is RowSlot.VALUE:
                    pieces.append(values.write(value, margin))
                else:
                    pieces.append(piece)
            yield "".join(pieces)


class ValueNotation(Struct, frozen=True):
    """How a value of each type is written."""

    string: StringText
    true: str
    false: str
    null: str
    array: ContainerNotation
    object: ContainerNotation
    number: StringText = field(default_factory=StringText)
    """What stands around a number."""

    def write(self, value: Json, margin: str = "") -> str:
        """Write a value; `margin` is what its lines already begin with."""
        match value:
            case None:
                return self.null
            case bool():
                return self.true if value else self.false
            case int() | float():
                return f"{self.number.open}{value!r}{self.number.close}"
            case str():
                return self.string.write(value)
            case list():
                return self.array.write([("", item) for item in value], self, margin)
            case dict():
                return self.object.write(list(value.items()), self, margin)

    @property
    def is_json(self) -> bool:
        """Whether every value comes out as JSON, so that a JSON reader reads it back."""
        return self.string.escape in JSON_ESCAPES and (
            self.string.open,
            self.true,
            self.false,
            self.null,
            self.array.open,
            self.object.open,
            self.object.key.open,
        ) == ('"', "true", "false", "null", "[", "{", '"')


JSON_ESCAPES = frozenset({StringEscape.JSON, StringEscape.JSON_ASCII})


def json_notation(
    *,
    comma: str = ", ",
    colon: str = ": ",
    ascii_only: bool = False,
    order: MemberOrder = MemberOrder.GIVEN,
    indent: str = "",
) -> ValueNotation:
    """Describe JSON as `json.dumps` writes it with these settings."""
    quoted = StringText('"', '"', StringEscape.JSON_ASCII if ascii_only else StringEscape.JSON)
    separator = comma.rstrip() if indent else comma
    return ValueNotation(
        string=quoted,
        true="true",
        false="false",
        null="null",
        array=ContainerNotation("[", "]", separator, "[]", indent=indent),
        object=ContainerNotation(
            "{",
            "}",
            separator,
            "{}",
            (RowSlot.KEY, colon, RowSlot.VALUE),
            key=quoted,
            order=order,
            indent=indent,
        ),
    )


def python_notation() -> ValueNotation:
    """Describe Python literals as `repr` writes them."""
    text = StringText(escape=StringEscape.PYTHON)
    json_like = json_notation()
    members = replace(json_like.object, key=text)
    return replace(json_like, string=text, true="True", false="False", null="None", object=members)


# The fields of a call that is one JSON value, found by reading it as JSON.


_NAME, _ID, _ARGUMENTS = "zname", "zid", "zarguments"
_INDEX = 7


class JsonFields(Struct, frozen=True):
    """The names of its JSON fields, and where in the text of a call its JSON stands."""

    fun_name_is_key: bool = False
    """The function's name is the key, its arguments the value."""
    function_field: str = ""
    """The outer key, where name and arguments stand in an object of their own."""
    name_field: str = ""
    args_field: str = ""
    id_field: str = ""
    gen_id_field: str = ""
    """The key of an id that the template makes up by counting."""
    parameter_order: tuple[str, ...] = ()
    before: str = ""
    """The text of a call before its JSON."""
    after: str = ""
    """The text of a call after its JSON."""


def json_fields_of(row: Row) -> JsonFields | None:
    """Read a call as JSON (or as a Python literal), or None if the name stands in no JSON."""
    if RowSlot.NAME not in row:
        return None
    python = any("'" in piece for piece in row if not isinstance(piece, RowSlot))
    text = _sample(row)
    for start, value, end in _values(text, python=python):
        if not start < text.index(_NAME) < end:
            continue
        found = _describe(value)
        if found is None:
            continue
        return replace(found, before=text[:start], after=text[end:])
    return None


def _sample(row: Row) -> str:
    words = {
        RowSlot.NAME: _NAME,
        RowSlot.ID: _ID,
        RowSlot.INDEX: str(_INDEX),
        RowSlot.ARGUMENTS: f'"{_ARGUMENTS}"',
    }
    return "".join(words.get(piece, "") if isinstance(piece, RowSlot) else piece for piece in row)


def _values(text: str, *, python: bool) -> Iterator[tuple[int, Json, int]]:
    decoder = json.JSONDecoder()
    for start, char in enumerate(text):
        if char not in "{[":
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            if not python:
                continue
            read = _literal(text, start)
            if read is None:
                continue
            value, end = read
        yield start, value, end


def _literal(text: str, start: int) -> tuple[Json, int] | None:
    for end in range(len(text), start + 1, -1):
        if text[end - 1] not in "}]":
            continue
        try:
            return ast.literal_eval(text[start:end]), end
        except (ValueError, SyntaxError):
            continue
    return None


def _describe(value: Json) -> JsonFields | None:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if _NAME in value:
        return JsonFields(fun_name_is_key=True)
    outer, inner = _holder_of_name(value)
    name = _key_of(inner, _NAME)
    if name is None:
        return None
    arguments = _key_of(inner, _ARGUMENTS) or _key_of(value, _ARGUMENTS) or ""
    call_id = _key_of(value, _ID) or _key_of(inner, _ID) or ""
    counted = _key_of(value, _INDEX) or _key_of(value, str(_INDEX)) or ""
    wanted = {name, arguments, call_id, counted} - {""}
    order: list[str] = []
    for key in value:
        members = inner if key == outer else {key: value}
        order += [member for member in members if member in wanted]
    return JsonFields(
        function_field=outer,
        name_field=name,
        args_field=arguments,
        id_field=call_id,
        gen_id_field=counted,
        parameter_order=tuple(order),
    )


def _holder_of_name(value: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """Return the key and the object that holds the name; an empty key if it is the whole."""
    for key, nested in value.items():
        if isinstance(nested, dict) and _key_of(nested, _NAME) is not None:
            return key, nested
    return "", value


def _key_of(members: dict[str, Json], value: Json) -> str | None:
    return next((key for key, found in members.items() if found == value), None)


# Ids that carry the name of a call's function, where nothing else of a call does.
#
# Where a render shows how such an id is put together or taken apart, that is its row. Where none
# does, one general rule holds. The words of an id are its letters, digits, `_` and `-`; what
# stands between them is its own separators. The only offered name that stands in it as whole
# words names the call: `functions.delete:0` calls `delete`, and `functions.undelete:0` does not.
# Of names of which one holds the other, the longer one counts. Else the call is of an unknown
# function: of the last word in an id such as `functions.remove:0`, or, where several offered
# names stand in it, of the whole id. An id that looks otherwise, such as `weird@id`, names
# nothing.


class NamingId(Struct, frozen=True):
    """How an id carries a name."""

    row: Row = ()
    """Literals and slots, as the template itself writes such an id or takes it apart: the name, the
    index, and for a word that no render tells anything about, the id. Empty: no render shows it."""

    def write(self, name: str, index: int) -> str:
        """Write the id of the call that has this index; where no render shows one, a plain one."""
        slots = {RowSlot.NAME: name, RowSlot.INDEX: str(index), RowSlot.ID: str(index)}
        row = self.row or (RowSlot.NAME, ":", RowSlot.INDEX)
        return "".join(slots[piece] if isinstance(piece, RowSlot) else piece for piece in row)

    def pattern(self, name: str, escaped: Callable[[str], str], *, word: str, number: str) -> str:
        """Put a regular expression of such ids together: of its parts' own, without groups.

        Where no render shows one, other words may stand before the name, and a number after it.
        """
        if not self.row:
            return f"(?:{word}[{_SIGNS}])?{name}(?:[{_SIGNS}]{number})?"
        slots = {RowSlot.NAME: name, RowSlot.INDEX: number, RowSlot.ID: word}
        return "".join(
            slots[piece] if isinstance(piece, RowSlot) else escaped(piece) for piece in self.row
        )

    def name_in(self, call_id: str, offered: Collection[str] | None) -> str:
        """Find the name in an id, empty where it holds none; `offered` are the tools, None: any."""
        if self.row:
            pattern = self.pattern(r"(.+?)", re.escape, word=r".*?", number=r"\d+")
            match = re.fullmatch(pattern, call_id, re.DOTALL)
            if match is not None:
                return str(match.group(1))
        standing = [name for name in offered or () if _stands(name, call_id)]
        longest = [name for name in standing if not _within_another(name, standing)]
        if len(longest) == 1:
            return longest[0]
        if longest:
            return call_id
        unknown = _UNKNOWN.fullmatch(call_id)
        return str(unknown.group(1)) if unknown is not None else ""


_SIGNS = ".:/"
_UNKNOWN = re.compile(rf"(?:[\w-]+[{_SIGNS}])*(?!\d+(?:[{_SIGNS}]|$))([\w-]+)(?:[{_SIGNS}]\d+)?")


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a text as whole words."""
    return bool(name) and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _within_another(name: str, names: Collection[str]) -> bool:
    return any(other != name and _stands(name, other) for other in names)
