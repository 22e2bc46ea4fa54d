r"""How values are written: one recursive description for JSON, Python, tags and the rest.

A container is `open`, its entries with `separator` between them, and `close`; an entry is a row of
literals with slots for a key and a value. Of `{"city": "Oslo", "days": 3}`, the entry is
`(KEY, ": ", VALUE)`, and the key's notation has the quotes. Of

    <parameter=city>
    Oslo
    </parameter>

the entry is `("<parameter=", KEY, ">\n", VALUE, "\n</parameter>")`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from autoparser.lazy_names import lazy_pattern

from .conversation import Json
from .documents import JsonDocument
from .json_types import JsonType, json_type
from .string_notation import StringEscape, StringText


class RowSlot(StrEnum):
    """A slot in a row of literals."""

    NAME = "name"
    ID = "id"
    INDEX = "index"
    ARGUMENTS = "arguments"
    KEY = "key"
    VALUE = "value"


Row: TypeAlias = tuple[str | RowSlot, ...]
"""Literals and slots in the order they are written."""


class MemberOrder(StrEnum):
    """The order of an object's members."""

    GIVEN = "as given"
    SORTED = "sorted"
    SORTED_FOLDED = "sorted, ignoring case"

    def arrange(self, keys: Sequence[str]) -> list[str]:
        """Put the keys into the order of writing."""
        if self is MemberOrder.GIVEN:
            return list(keys)
        # Jinja's `dictsort` ignores case by default; its own `tojson` does not.
        return sorted(keys, key=str.lower if self is MemberOrder.SORTED_FOLDED else None)


class ContainerNotation(Struct, frozen=True):
    """How an array or an object is written."""

    open: str = ""
    """Before the first entry, e.g. `"{"`."""
    close: str = ""
    """After the last entry, e.g. `"}"`."""
    separator: str = ""
    r"""Between two entries, e.g. `", "` or `"\n"`."""
    empty: str = ""
    """The whole container without entries, e.g. `"{}"`."""
    entry: Row = (RowSlot.VALUE,)
    r"""One item or member, e.g. `("<parameter=", KEY, ">\n", VALUE, "\n</parameter>")`."""
    typed: Mapping[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    """Other rows for values of some types, e.g. `{NULL: None}`; None omits the entry."""
    key: StringText = field(default_factory=StringText)
    """How keys are written, such as `"city"` in the quotes of JSON; bare by default."""
    order: MemberOrder = MemberOrder.GIVEN
    """The order of the members, e.g. `MemberOrder.SORTED`."""
    indent: str = ""
    """The indentation that one level adds, e.g. `"  "`; empty if all is on one line."""
    values: ValueNotation | None = None
    r"""The notation of the values inside, or None if they share the container's. In
    `<parameter=labels>\n["a", "b"]\n</parameter>` the strings of the array are in quotes, and a
    string that is an argument of its own is bare."""

    def row(self, kind: JsonType) -> Row | None:
        """Return the row of an entry whose value has this type, or None if it is omitted."""
        return self.typed.get(kind, self.entry)

    @property
    def rows(self) -> list[Row]:
        """The rows in which entries are written, whatever their values are."""
        return [self.entry, *filter(None, self.typed.values())]

    @property
    def entry_leads(self) -> tuple[str, ...]:
        r"""The texts up to a key that end a raw value only together with it, e.g. `("\n",)`.

        Empty if an entry has a closer, if a sign separates entries, or if a marker begins one.
        """
        if self.separator.strip() or any(row[-1:] != (RowSlot.VALUE,) for row in self.rows):
            return ()
        opens = ["".join(row[: row.index(RowSlot.KEY)]) for row in self.rows if RowSlot.KEY in row]
        # A bracket or a sign may stand in a text, and so may a line break.
        if any(len(text.strip()) > 2 for text in opens):  # noqa: PLR2004
            return ()
        leads = (f"{self.separator}{text}{self.key.open}" for text in opens)
        return tuple(dict.fromkeys(leads))

    @property
    def key_closes(self) -> tuple[str, ...]:
        """The texts between a key and its value, without their blanks if they have a sign."""
        keyed = [row for row in self.rows if RowSlot.KEY in row and RowSlot.VALUE in row]
        closes = (
            f"{self.key.close}{''.join(row[row.index(RowSlot.KEY) + 1 : row.index(RowSlot.VALUE)])}"
            for row in keyed
        )
        found = [text.rstrip() or text for text in closes]
        return tuple(filter(None, dict.fromkeys([*found, *map(str.strip, found)])))

    def key_heads(self, names: Iterable[str]) -> Iterator[str]:
        """Yield each name without the opener of keys, with each text up to its value: `b :=`."""
        closes = self.key_closes
        for name in names:
            written = self.key.write(name).removeprefix(self.key.open).removesuffix(self.key.close)
            yield from (f"{written}{close}" for close in closes)

    def write(
        self, entries: Sequence[tuple[str, Json]], outer: ValueNotation, margin: str = ""
    ) -> str:
        """Write an array or an object with these entries; an array's entries have empty keys."""
        inner = margin + self.indent
        written = [row for row in self._rows(entries, outer, inner) if row is not None]
        # Also if every entry is omitted because of its type.
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
            row = self.row(json_type(value))
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
    """The quotes and escapes of strings, such as `StringText('"', '"', StringEscape.JSON)`."""
    true: str
    """The word for true, e.g. `"True"`."""
    false: str
    """The word for false, e.g. `"False"`."""
    null: str
    """The word for null, e.g. `"None"`."""
    array: ContainerNotation
    """The notation of arrays, such as JSON's in `["a", "b"]`."""
    object: ContainerNotation
    """The notation of objects, such as JSON's in `{"city": "Oslo"}`."""
    number: StringText = field(default_factory=StringText)
    """The text around a number, such as `"#"` before each number; empty in most notations."""

    def write(self, value: Json, margin: str = "") -> str:
        """Write a value whose lines are indented by `margin`."""
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
        """Whether every value is valid JSON text."""
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
"""The escapes that a JSON reader decodes."""


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
    # With an indent, a line break without a space follows each comma.
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


class JsonFieldsDocument(JsonDocument, frozen=True):
    """The fields of a call that is one JSON value."""

    fun_name_is_key: bool = False
    """Whether the name is the key of the arguments, as in
    `{"get_forecast": {"city": "Oslo", "days": 3}}`."""
    function_field: str = ""
    """The key of the object with name and arguments, such as `"function"`; empty if not nested."""
    name_field: str = ""
    """The key of the name, such as `"name"`."""
    args_field: str = ""
    """The key of the arguments, such as `"arguments"`."""
    id_field: str = ""
    """The key of the id, such as `"id"`; empty if the call has none."""
    gen_id_field: str = ""
    """The key of an id that the template generates by counting, such as `"tool_call_id"`."""
    parameter_order: tuple[str, ...] = ()
    """The order of these keys, such as `("name", "arguments")`."""


class JsonFields(JsonFieldsDocument, frozen=True):
    """The same fields, and the text around the JSON."""

    before: str = ""
    """The text before the JSON, e.g. `"<tool>"`."""
    after: str = ""
    """The text after the JSON, e.g. `"</tool>"`."""


def read_json_fields(row: Row) -> JsonFields | None:
    """Read a call as JSON or a Python literal; return None if the name is not inside one."""
    if RowSlot.NAME not in row:
        return None
    # Parsing as Python tries every end of the text, so only do it if Python's quotes occur.
    python = any("'" in piece for piece in row if not isinstance(piece, RowSlot))
    text = _sample(row)
    for start, value, end in _embedded_values(text, python=python):
        if not start < text.index(_NAME) < end:
            continue
        found = _describe(value)
        if found is None:
            continue
        found = replace(found, before=text[:start], after=text[end:])
        return None if _has_id_around(row, found) else found
    return None


def _has_id_around(row: Row, fields: JsonFields) -> bool:
    """Return whether the text around the JSON holds an id, as in `<call id=a1>{"name": …}`."""
    around = fields.before + fields.after
    if RowSlot.INDEX in row and not fields.gen_id_field and str(_INDEX) in around:
        return True
    return RowSlot.ID in row and _ID in around


def _sample(row: Row) -> str:
    # The row's literals have the quotes of a name and an id, but none around the arguments.
    words = {
        RowSlot.NAME: _NAME,
        RowSlot.ID: _ID,
        RowSlot.INDEX: str(_INDEX),
        RowSlot.ARGUMENTS: f'"{_ARGUMENTS}"',
    }
    return "".join(words.get(piece, "") if isinstance(piece, RowSlot) else piece for piece in row)


def _embedded_values(text: str, *, python: bool) -> Iterator[tuple[int, Json, int]]:
    decoder = json.JSONDecoder()
    for start, char in enumerate(text):
        if char not in "{[":
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            if not python:
                continue
            read = _literal_at(text, start)
            if read is None:
                continue
            value, end = read
        yield start, value, end


def _literal_at(text: str, start: int) -> tuple[Json, int] | None:
    # Search from the end: the longest text that is a literal is the whole call.
    for end in range(len(text), start + 1, -1):
        if text[end - 1] not in "}]":
            continue
        try:
            return ast.literal_eval(text[start:end]), end
        except (ValueError, SyntaxError):
            continue
    return None


def _describe(value: Json) -> JsonFields | None:
    # A template may write each call in an array of its own.
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
    # A counted id is a number, or that number in quotes.
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


# Ids that contain the name of a call's function, in formats that write no name elsewhere.
#
# If a render shows how such an id is composed, that is its row. If none does, one general rule
# applies. The words of an id consist of letters, digits, `_` and `-`, with separators between
# them. If exactly one offered name occurs in the id as whole words, it names the call:
# `functions.delete:0` calls `delete`, and `functions.undelete:0` does not. Of two names, one
# inside the other, the longer one counts. Otherwise the function is unknown: its name is the last
# word of an id such as `functions.remove:0`, or the whole id if several offered names occur in it.
# An id of another form, such as `weird@id`, contains no name.


class NamingId(Struct, frozen=True):
    """How an id contains a name."""

    row: Row = ()
    """The id's literals and slots, such as `(ID, "/", NAME)`; the slot ID matches
    any word. Empty if no render shows them."""

    def write(self, name: str, index: int) -> str:
        """Write the id of the call with this index; `name:index` if no render shows the form."""
        slots = {RowSlot.NAME: name, RowSlot.INDEX: str(index), RowSlot.ID: str(index)}
        row = self.row or (RowSlot.NAME, ":", RowSlot.INDEX)
        return "".join(slots[piece] if isinstance(piece, RowSlot) else piece for piece in row)

    def pattern(self, name: str, escaped: Callable[[str], str], *, word: str, number: str) -> str:
        """Return a regular expression without groups for such ids, joined from its parts.

        If no render shows the form, words may precede the name and a number may follow it.
        """
        if not self.row:
            return f"(?:{word}[{_SIGNS}])?{name}(?:[{_SIGNS}]{number})?"
        slots = {RowSlot.NAME: name, RowSlot.INDEX: number, RowSlot.ID: word}
        return "".join(
            slots[piece] if isinstance(piece, RowSlot) else escaped(piece) for piece in self.row
        )

    def name_in(self, call_id: str, offered: Collection[str] | None) -> str:
        """Return the name in an id, or an empty text; `offered` are the tools, None allows any."""
        if self.row:
            pattern = self.pattern(r"(.+?)", re.escape, word=r".*?", number=r"\d+")
            match = re.fullmatch(pattern, call_id, re.DOTALL)
            if match is not None:
                return str(match.group(1))
        standing = [name for name in offered or () if name in call_id and _stands(name, call_id)]
        longest = [name for name in standing if not _within_another(name, standing)]
        if len(longest) == 1:
            return longest[0]
        if longest:
            return call_id
        unknown = _UNKNOWN.fullmatch(call_id)
        return str(unknown.group(1)) if unknown is not None else ""


_SIGNS = ".:/"
_UNKNOWN = lazy_pattern(rf"(?:[\w-]+[{_SIGNS}])*(?!\d+(?:[{_SIGNS}]|$))([\w-]+)(?:[{_SIGNS}]\d+)?")


def _stands(name: str, text: str) -> bool:
    """Return whether a name occurs in a text as whole words."""
    return (
        bool(name)
        and name in text
        and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))
    )


def _within_another(name: str, names: Collection[str]) -> bool:
    return any(other != name and _stands(name, other) for other in names)
