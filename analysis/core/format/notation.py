"""How values are written: one recursive description for JSON, Python, tags and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import JsonType, type_of

from .text import Escape, Text


class Slot(StrEnum):
    """A place in a row of literals that a value fills."""

    NAME = "name"
    ID = "id"
    INDEX = "index"
    ARGUMENTS = "arguments"
    KEY = "key"
    VALUE = "value"


Row: TypeAlias = tuple[str | Slot, ...]
"""Literals and slots in the order they are written."""


class Order(StrEnum):
    """The order in which an object's members are written."""

    GIVEN = "as given"
    SORTED = "sorted"
    SORTED_FOLDED = "sorted, ignoring case"

    def arrange(self, keys: Sequence[str]) -> list[str]:
        """Put the keys into the order of writing."""
        if self is Order.GIVEN:
            return list(keys)
        return sorted(keys, key=str.lower if self is Order.SORTED_FOLDED else None)


@dataclass(frozen=True, slots=True)
class Container:
    """How an array or an object is written."""

    open: str = ""
    close: str = ""
    separator: str = ""
    empty: str = ""
    entry: Row = (Slot.VALUE,)
    """How an item or a member is written."""
    typed: Mapping[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    """Entries that are written otherwise because of their value's type; None: not written."""
    key: Text = field(default_factory=Text)
    order: Order = Order.GIVEN
    indent: str = ""
    """What one level adds to the beginning of a line; empty: all on one line."""
    values: Notation | None = None
    """How the values inside are written; None: like the value that holds them."""

    def row(self, kind: JsonType) -> Row | None:
        """Say how an entry whose value has this type is written."""
        return self.typed.get(kind, self.entry)

    def write(self, entries: Sequence[tuple[str, Json]], outer: Notation, margin: str = "") -> str:
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
        self, entries: Sequence[tuple[str, Json]], outer: Notation, margin: str
    ) -> Iterator[str | None]:
        values = self.values or outer
        if self.order is not Order.GIVEN:
            known = dict(entries)
            entries = [(key, known[key]) for key in self.order.arrange(list(known))]
        for key, value in entries:
            row = self.row(type_of(value))
            if row is None:
                yield None
                continue
            pieces: list[str] = []
            for piece in row:
                if piece is Slot.KEY:
                    pieces.append(self.key.write(key))
                elif piece is Slot.VALUE:
                    pieces.append(values.write(value, margin))
                else:
                    pieces.append(piece)
            yield "".join(pieces)


@dataclass(frozen=True, slots=True)
class Notation:
    """How a value of each type is written."""

    string: Text
    true: str
    false: str
    null: str
    array: Container
    object: Container
    number: Text = field(default_factory=Text)
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


JSON_ESCAPES = frozenset({Escape.JSON, Escape.JSON_ASCII})


def json_notation(
    *,
    comma: str = ", ",
    colon: str = ": ",
    ascii_only: bool = False,
    order: Order = Order.GIVEN,
    indent: str = "",
) -> Notation:
    """Describe JSON as `json.dumps` writes it with these settings."""
    quoted = Text('"', '"', Escape.JSON_ASCII if ascii_only else Escape.JSON)
    separator = comma.rstrip() if indent else comma
    return Notation(
        string=quoted,
        true="true",
        false="false",
        null="null",
        array=Container("[", "]", separator, "[]", indent=indent),
        object=Container(
            "{",
            "}",
            separator,
            "{}",
            (Slot.KEY, colon, Slot.VALUE),
            key=quoted,
            order=order,
            indent=indent,
        ),
    )


def python_notation() -> Notation:
    """Describe Python literals as `repr` writes them."""
    text = Text(escape=Escape.PYTHON)
    json_like = json_notation()
    members = replace(json_like.object, key=text)
    return replace(json_like, string=text, true="True", false="False", null="None", object=members)
