"""Reading values whose members are elements: nothing but each member's own marks tells them."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Container, Notation
from autoparser.analysis.core.schema import SchemaPart

from .entry_openings import EntryRow
from .typed import typed
from .value_decoding import Unreadable


def read_elements(text: str, notation: Notation, schema: SchemaPart) -> Json:
    """Read an array or object that is only its members in a row; raises Unreadable otherwise."""
    for container, keyed in ((notation.array, False), (notation.object, True)):
        if container.open.strip() or container.close.strip():
            continue
        row = EntryRow(container.entry)
        if not row.before.strip() or not row.after.strip():
            continue
        try:
            return _Members(text, row, container, notation, schema).read(keyed=keyed)
        except Unreadable:
            continue
    raise Unreadable


def nested_opening(notation: Notation, row: EntryRow, key: str) -> str:
    """Return what opens an element in a value that is closed as the value's own entry is.

    Of an entry `<a>…</a>` that is `<a>`; empty where nothing in the value is closed so.
    """
    for container, keyed in ((notation.array, False), (notation.object, True)):
        if container.open.strip() or container.close.strip():
            continue
        inner = EntryRow(container.entry)
        opens, closes = inner.before, inner.after
        if keyed:
            opens += key + inner.middle
            closes += key + inner.end if inner.keyed_close else ""
        end = key + row.end if row.keyed_close else ""
        # Entries may share what stands between two of them with their neighbours.
        begins = opens.endswith(f"{row.before}{key}{row.middle}")
        if begins and closes.strip() and f"{row.after}{end}".startswith(closes):
            return opens.strip()
    return ""


class _Members:
    """Reads the members of one container from all of a text."""

    def __init__(
        self, text: str, row: EntryRow, container: Container, outer: Notation, schema: SchemaPart
    ) -> None:
        self.text, self.row, self.at = text, row, 0
        self.notation, self.key = container.values or outer, container.key
        self.schema = schema

    def read(self, *, keyed: bool) -> Json:
        members: dict[str, Json] = {}
        repeated: dict[str, list[Json]] = {}
        """What elements of one name hold, where the schema does not say what the member is."""
        items: list[Json] = []
        self._space()
        while self.at < len(self.text):
            self._take(self.row.before)
            if keyed:
                key = self._key()
                name = self.key.read(key)
                schema = self.schema.member(name)
                value = self._value(self._opened(key), self._closed(key), schema)
                if name in members and name not in self.schema.names:
                    repeated.setdefault(name, [members[name]]).append(value)
                members[name] = value
            else:
                schema = self.schema.item(len(items))
                items.append(self._value(self.row.before, self.row.after, schema))
            self._space()
        if not members and not items:
            raise Unreadable
        return {**members, **repeated} if keyed else items

    def _opened(self, key: str) -> str:
        return f"{self.row.before}{key}{self.row.middle}"

    def _closed(self, key: str) -> str:
        return f"{self.row.after}{key}{self.row.end}" if self.row.keyed_close else self.row.after

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _take(self, wanted: str) -> None:
        wanted = wanted.strip()
        if not self.text.startswith(wanted, self.at):
            raise Unreadable
        self.at += len(wanted)

    def _key(self) -> str:
        middle = self.row.middle.strip()
        end = self.text.find(middle, self.at) if middle else -1
        key = self.text[self.at : end]
        if end < 0 or not key or any(char.isspace() for char in key):
            raise Unreadable
        self.at = end + len(middle)
        return key

    def _value(self, opens: str, closes: str, schema: SchemaPart) -> Json:
        """Read a member's value up to the closer that belongs to it, and take the closer."""
        opens, closes = opens.strip(), closes.strip()
        begun, depth, at = self.at, 1, self.at
        while depth:
            close = self.text.find(closes, at)
            if close < 0:
                raise Unreadable
            inner = self.text.find(opens, at, close)
            depth += 1 if inner >= 0 else -1
            at = (inner + len(opens)) if inner >= 0 else (close + len(closes))
        self.at = at
        return _value_of(self.text[begun : at - len(closes)], self.notation, schema)


def _value_of(text: str, notation: Notation, schema: SchemaPart) -> Json:
    types = schema.kinds
    if types == frozenset({"string"}):
        return notation.string.read(text)
    if not text.strip() and types is not None:
        if "array" in types:
            return []
        if "object" in types:
            return {}
    try:
        return read_elements(text, notation, schema)
    except Unreadable:
        value = typed(text, types, notation)
        return notation.string.read(value) if isinstance(value, str) else value
