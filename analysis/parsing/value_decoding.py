"""Decode the text of a value, in a format's notation, as JSON, or as a Python literal.

`decode_value` tries the notation first, then JSON, then Python, and raises UnreadableValueError.
`decode_typed` decodes raw text by the types of a schema; text of no such type is a string.
`read_elements` decodes a value that is only its members in a row, such as `<a>1</a><b>2</b>`.
An `EntryRow` has the literals of an entry of arguments, and the types of the values it is for.

Python's literals are read as well, and a text of no type that the schema allows stays a string:

    >>> from autoparser.analysis.core.call_notation import json_notation
    >>> decode_value("{'a': True}", json_notation())
    {'a': True}
    >>> decode_typed("5", frozenset({"string"}), json_notation())
    '5'
    >>> decode_typed("five", frozenset({"integer"}), json_notation())
    'five'
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import (
    is_mapping,
    is_row,
)
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.schema_keywords import Schema, required_names, schema_map
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.string_notation import (
    StringEscape,
    StringText,
    from_html,
    from_python,
)
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.lazy_names import lazy_pattern

_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)

STRING_ONLY = frozenset({"string"})
"""The types of a value that a schema declares as a string and nothing else."""
ANY_KIND = frozenset(map(str, JsonType))


class UnreadableValueError(Exception):
    """The text is not a value of the notation."""


class _Cursor:
    """A place in a whole text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _takes(self, wanted: str) -> bool:
        """Move past a text if it is there; return whether it was, False for an empty one."""
        if wanted and self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False


class ValueDecoder(_Cursor):
    """Decodes a value from a whole text in a notation."""

    foreign = False
    """Whether a quote or a separator is not the notation's, as in `'Oslo'` or `[1, 2,]`."""
    mixed = False
    """Whether a word or an escape is another notation's, or a key stands twice, as in
    `[True, null]`."""

    def __init__(self, text: str, names: Sequence[str] = ()) -> None:
        """Start at the text's front; `names` may contain the text that ends names."""
        super().__init__(text)
        self._names = names

    def value(self, notation: ValueNotation) -> Json:
        """Decode the next value. Raises UnreadableValueError."""
        self._space()
        found = self._string(notation.string)
        if found is not None:
            return found
        for container, keyed in ((notation.object, True), (notation.array, False)):
            if container.open.strip() and self._takes(container.open.strip()):
                return self._entries(container, notation, keyed=keyed)
        # The notation's own words first: JSON's are what models write instead.
        for word, value in (
            (notation.true, True),
            (notation.false, False),
            (notation.null, None),
            ("true", True),
            ("false", False),
            ("null", None),
        ):
            if word and self._takes(word):
                self.mixed |= word not in (notation.true, notation.false, notation.null)
                return value
        # The markers around a number may be missing.
        self._takes(notation.number.open.strip())
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise UnreadableValueError
        self.at = match.end()
        self._takes(notation.number.close.strip())
        return require_finite(json.loads(match.group()))

    def end(self) -> bool:
        """Return whether only whitespace is left."""
        self._space()
        return self.at == len(self.text)

    def _string(self, text: StringText) -> str | None:
        if text.escape is StringEscape.PYTHON or (
            text.open in ('"', "'") and text.escape in _QUOTED
        ):
            return self._quoted(json_only=text.escape is not StringEscape.PYTHON)
        opening, close = text.open.strip(), text.close.strip()
        if not opening or not self._takes(opening):
            # Even if markers quote strings, a model may use the quotes of JSON or Python.
            found = self._quoted() if len(opening) > 1 else None
            self.foreign = self.foreign or found is not None
            return found
        end = self._close_of(close, text.escapes)
        inside = self.text[self.at : end]
        self.at = end + len(close)
        self.foreign = self.foreign or not text.has_written(inside)
        return text.read(inside)

    def _close_of(self, close: str, escapes: tuple[str, ...]) -> int:
        """Return the offset of a string's closer that is not inside an escape."""
        # The longest first: an escape such as `\"` contains the closer.
        words = sorted({close, *escapes}, key=len, reverse=True)
        for match in re.compile("|".join(map(re.escape, words))).finditer(self.text, self.at):
            if match.group() == close:
                return match.start()
        raise UnreadableValueError

    def _quoted(self, *, json_only: bool = False) -> str | None:
        match = _QUOTES.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        whole = match.group()
        self.foreign = self.foreign or _CONTROL.search(whole) is not None
        if whole[0] == '"':
            # Python uses this quote, too, with escapes that JSON does not have.
            try:
                return str(json.loads(whole, strict=False))
            except ValueError:
                read = from_python(whole)
                # A model may mean a literal backslash, unless Python itself would write this.
                self.mixed |= json_only or repr(read) != whole
                return whole[1:-1] if read == whole else read
        self.mixed |= json_only
        return from_python(whole)

    def _entries(self, container: ContainerNotation, outer: ValueNotation, *, keyed: bool) -> Json:
        values = container.values or outer
        close = container.close.strip()
        separator = container.separator.strip()
        members: dict[str, Json] = {}
        items: list[Json] = []
        while True:
            self._space()
            if close and self._takes(close):
                return members if keyed else items
            if self.at >= len(self.text):
                raise UnreadableValueError
            separated = self._takes(separator)
            self._space()
            ends = bool(close) and self.text.startswith(close, self.at)
            wanted = bool(separator) and bool(members or items) and not ends
            # Models write a comma too many or too few: readable, but not as the template writes it.
            self.foreign = self.foreign or separated is not wanted
            if ends:
                continue
            key, value = self._entry(container, values)
            if keyed:
                self.mixed |= key in members
                members[key] = value
            else:
                items.append(value)

    def _entry(self, container: ContainerNotation, values: ValueNotation) -> tuple[str, Json]:
        row: Row = container.row(JsonType.STRING) or container.entry
        key = ""
        value: Json = None
        for at, piece in enumerate(row):
            self._space()
            if piece is RowSlot.KEY:
                key = self._key(container, row[at + 1] if at + 1 < len(row) else "")
            elif piece is RowSlot.VALUE:
                value = self.value(values)
            elif not self._takes(str(piece).strip()):
                raise UnreadableValueError
        return key, value

    def _key(self, container: ContainerNotation, following: str | RowSlot) -> str:
        own = bool(container.key.open) or container.key.escape is StringEscape.PYTHON
        quoted = self._quoted() if own else None
        if quoted is not None:
            return quoted
        stop = str(following).strip()
        known = (name for name in self._names if self.text.startswith(name + stop, self.at))
        end = self.text.find(stop, self.at + len(next(known, ""))) if stop else -1
        if end < 0:
            raise UnreadableValueError
        written = self.text[self.at : end].strip()
        key = container.key.read(written)
        self.foreign = self.foreign or not container.key.has_written(written)
        # With quotes missing, only a plain word is sure to be a key.
        if own and not _BARE_KEY.fullmatch(key):
            raise UnreadableValueError
        self.at = end
        return key


_CONTROL = lazy_pattern(r"[\x00-\x1f]")
_BARE_KEY = lazy_pattern(r"[\w$.-]+")
"""A key without the quotes that it should have."""
_QUOTED = frozenset({StringEscape.JSON, StringEscape.JSON_ASCII})
_QUOTES = lazy_pattern(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL)


def python_text(text: str, quote: str) -> str | None:
    r"""Return the string that a text stands for, or None if it escapes no quote or backslash.

    Other backslashes are text, as in `C:\new`: the template escapes nothing.
    """
    if f"\\{quote}" not in text and "\\\\" not in text:
        return None
    literal = f"{quote}{text}{quote}".replace("\n", "\\n")
    return None if from_python(literal) == literal else _ESCAPED.sub(r"\1", text)


_ESCAPED = lazy_pattern(r"\\([\\'\"])")


_HTML = frozenset({StringEscape.HTML, StringEscape.JSON_HTML})
_SPELLINGS = json_notation(), python_notation()
"""The notations that models write in place of the format's."""
_PYTHON = tuple("'\"[({")
"""First characters of Python literals, except numbers, which JSON covers."""


def decode_value(text: str, notation: ValueNotation, names: Sequence[str] = ()) -> Json:
    """Decode a whole text as one value of the notation, JSON or Python.

    `names` are declared ones that may contain the text that ends names. Raises UnreadableValueError
    if it is none of these.
    """
    decoder = ValueDecoder(text, names)
    try:
        value = decoder.value(notation)
        if decoder.end():
            return value
    except (UnreadableValueError, RecursionError, ValueError):
        pass
    if notation.string.escape in _HTML:
        text = from_html(text)
    try:
        return require_finite(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        pass
    text = text.strip()
    # Most texts are words: Python's parser is slow, and need not look at them.
    if text[:1] not in _PYTHON and text not in ("True", "False", "None"):
        raise UnreadableValueError
    try:
        with warnings.catch_warnings():
            # For example a number before a letter: a model's output should cause no warnings.
            warnings.simplefilter("ignore", SyntaxWarning)
            return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise UnreadableValueError from None


def is_written_value(text: str, notation: ValueNotation, names: Sequence[str] = ()) -> bool:
    """Return whether a text is a value as the notation writes it, or JSON or Python do."""
    if notation.string.escape in _HTML and StringText(escape=StringEscape.HTML).has_written(text):
        text = from_html(text)
    for spelling in (notation, *_SPELLINGS):
        decoder = ValueDecoder(text, names)
        try:
            decoder.value(spelling)
        except (UnreadableValueError, ValueError, RecursionError):
            continue
        if decoder.end() and not decoder.foreign and not decoder.mixed:
            return True
    return False


def is_value(text: str, notation: ValueNotation, names: Sequence[str] = ()) -> bool:
    """Return whether `decode_value` decodes a text."""
    try:
        decode_value(text, notation, names)
    except UnreadableValueError:
        return False
    return True


def _plain(value: object) -> Json:
    if is_mapping(value):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if is_row(value):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return require_finite(value)
    raise TypeError


def decode_json(text: str) -> Json:
    """Decode strict JSON, without NaN and Infinity. Raises ValueError."""
    value: Json = JSON_DECODER.decode(text)
    return value


def is_huge(text: str) -> bool:
    """Return whether a text is JSON with a number beyond the range of floats."""
    try:
        value = decode_json(text)
    except (ValueError, RecursionError):
        return False
    try:
        require_finite(value)
    except ValueError:
        return True
    return False


def _no_number(text: str) -> float:
    raise ValueError(text)


JSON_DECODER = json.JSONDecoder(parse_constant=_no_number)
"""Decodes strict JSON, without NaN and Infinity."""


def repeats_key(text: str, at: int = 0) -> bool:
    """Return whether an object in the JSON value that begins at an offset has a key twice."""
    try:
        _UNIQUE_DECODER.raw_decode(text, at)
    except (_RepeatedKeyError, RecursionError):
        return True
    return False


class _RepeatedKeyError(Exception):
    """A key stands twice in an object."""


def _members(pairs: list[tuple[str, Json]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


_UNIQUE_DECODER = json.JSONDecoder(object_pairs_hook=_members)


def require_finite(value: Json) -> Json:
    """Return the value. Raises ValueError for a number that JSON cannot express, such as inf."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    if isinstance(value, list):
        return [require_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: require_finite(member) for key, member in value.items()}
    return value


# Raw text decoded by the types of its schema.


_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("null", (type(None),)),
    ("boolean", (bool,)),
    ("integer", (int,)),
    ("number", (int, float)),
    ("array", (list,)),
    ("object", (dict,)),
)


def decode_typed(
    text: str, types: frozenset[str] | None, notation: ValueNotation, names: Sequence[str] = ()
) -> Json:
    """Decode the raw text of a value whose notation does not quote strings.

    By the schema's types: a string stays as it is; of several types, the first that the text
    reads as, in the order null, boolean, integer, number, array, object, string. Without types,
    text that a value of another type is written as is that value, everything else a string.
    A text that reads as none of its types is a string.
    """
    if types == STRING_ONLY:
        return text
    try:
        value = decode_value(text, notation, names)
    except UnreadableValueError:
        return _number(text, types)
    if types is None:
        # The text itself, with its quotes: no schema says that they enclose a string.
        return value if not isinstance(value, str) else text
    # JSON Schema counts 3.0 as an integer.
    if isinstance(value, float) and value.is_integer() and "number" not in types:
        value = int(value) if "integer" in types else value
    for name, kinds in _TYPES:
        if name in types and isinstance(value, kinds):
            # Python counts True as an integer.
            if isinstance(value, bool) and name in ("integer", "number"):
                continue
            return value
    return text


def _number(text: str, types: frozenset[str] | None) -> Json:
    """Decode a number that JSON does not allow, such as `007`, or return the text."""
    for name, read in (("integer", int), ("number", float)):
        if types is not None and name in types:
            try:
                return require_finite(read(text))
            except (ValueError, OverflowError):
                continue
    return text


# The rows of entries.


class EntryRow:
    """The literals of an entry: before its key, between key and value, after the value."""

    def __init__(self, row: Row) -> None:
        """Split a row at its key and value."""
        self.before, self.middle, self.after, self.end = "", "", "", ""
        self.keyed_close = False
        place = "before"
        for piece in row:
            if piece is RowSlot.KEY and place == "after":
                self.keyed_close, place = True, "end"
            elif piece is RowSlot.KEY:
                place = "middle"
            elif piece is RowSlot.VALUE:
                place = "after"
            else:
                setattr(self, place, getattr(self, place) + str(piece))
        self.kinds: set[JsonType] = set()
        self.quote = ""
        """The quote that the template writes around values of every type, where a model writes the
        value without it: as a literal of its own."""


def entry_rows(arguments: ArgumentFormat) -> list[EntryRow]:
    """Return the rows that differ, with the types that each is for."""
    members = arguments.members
    known: dict[Row, EntryRow] = {}
    for kind in JsonType:
        row = members.row(kind)
        if row is not None:
            known.setdefault(row, EntryRow(row)).kinds.add(kind)
    return list(known.values())


def key_closers(arguments: ArgumentFormat) -> tuple[str, ...]:
    """Return the markers that may follow a key, for formats in which a marker opens the keys."""
    if arguments.members.open.strip():
        return ()
    rows = [row for row in entry_rows(arguments) if TemplateLiteral.of(row.before).is_marked]
    return tuple(
        dict.fromkeys(TemplateLiteral.of(row.middle).units[0] for row in rows if row.middle.strip())
    )


def without_quotes(rows: Sequence[EntryRow]) -> list[EntryRow]:
    """Return the rows without the quotes that all their values stand between; else none.

    `days="{{ days }}"` is also written `days=3`, and `city="{{ city }}"` also `city='Oslo'`.
    """
    quotes = {(row.middle[-1:], row.after[:1]) for row in rows}
    if len(quotes) != 1 or not quotes <= {('"', '"'), ("'", "'")}:
        return []
    bare: list[EntryRow] = []
    for row in rows:
        other = EntryRow(())
        other.before, other.middle, other.after = row.before, row.middle[:-1], row.after[1:]
        other.quote = row.middle[-1]
        other.kinds = row.kinds
        bare.append(other)
    return bare


# Values whose members are elements, without a text around all of them.


def read_elements(text: str, notation: ValueNotation, schema: SchemaPart) -> tuple[Json, bool]:
    """Read an array or object that is only its members in a row; raises Unreadable otherwise.

    Also returns whether every member in it was read: markup of others is left in a string.
    """
    for container, keyed in ((notation.array, False), (notation.object, True)):
        if container.open.strip() or container.close.strip():
            continue
        row = EntryRow(container.entry)
        if not row.before.strip() or not row.after.strip():
            continue
        try:
            members = _Members(text, row, container, notation, schema)
            return members.read(keyed=keyed), members.whole
        except UnreadableValueError:
            continue
    raise UnreadableValueError


def nested_opening(notation: ValueNotation, row: EntryRow, key: str) -> str:
    """Return the opening of an element in a value with the same closer as the entry itself.

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
        # Entries may share the text between two of them with their neighbors.
        begins = opens.endswith(f"{row.before}{key}{row.middle}")
        if begins and closes.strip() and f"{row.after}{end}".startswith(closes):
            return opens.strip()
    return ""


def begins_as_elements(text: str, notation: ValueNotation) -> bool:
    """Return whether a text begins with the marker of elements that have no text around them."""
    for container in (notation.array, notation.object):
        opening = TemplateLiteral.of(EntryRow(container.entry).before)
        if not container.open.strip() and opening.mark and text.lstrip().startswith(opening.core):
            return True
    return False


class _Members(_Cursor):
    """Reads the members of one container from all of a text."""

    def __init__(
        self,
        text: str,
        row: EntryRow,
        container: ContainerNotation,
        outer: ValueNotation,
        schema: SchemaPart,
    ) -> None:
        super().__init__(text)
        self.whole = True
        """Whether every member was read, and those in it, e.g. False with "<a>1" in an item."""
        self.row = row
        self.notation, self.key = container.values or outer, container.key
        self.schema = schema

    def read(self, *, keyed: bool) -> Json:
        texts: list[tuple[str, str]] = []
        """The names of the members, and the text of each value."""
        self._space()
        while self.at < len(self.text):
            if not self._takes(self.row.before.strip()):
                raise UnreadableValueError
            key = self._key() if keyed else ""
            texts.append((self.key.read(key), self._inside(self._opened(key), self._closed(key))))
            self._space()
        if not texts:
            raise UnreadableValueError
        if not keyed:
            return [self._value(text, self.schema.item(at)) for at, (_, text) in enumerate(texts)]
        members: dict[str, Json] = {}
        repeated: dict[str, list[Json]] = {}
        """The elements of one name, if the schema does not declare the member."""
        fits = self._fits(dict(texts))
        for name, text in texts:
            value = self._value(text, self.schema.member_beside(name, fits))
            if name in members and name not in self.schema.names:
                # Without a schema, repeated elements of one name are the only sign of a list.
                repeated.setdefault(name, [members[name]]).append(value)
            members[name] = value
        return {**members, **repeated}

    def _fits(self, texts: Mapping[str, str]) -> Callable[[Schema], bool]:
        """Return a function that checks by names and constants whether a schema may be met.

        `texts` are the members of the object. Their types are not known before its option is.
        """
        known: dict[int, tuple[Schema, bool]] = {}

        def fits(schema: Schema) -> bool:
            if id(schema) not in known:
                # The schema is kept, too, so that no other one gets its id.
                known[id(schema)] = schema, self._may_meet(schema, texts)
            return known[id(schema)][1]

        return fits

    def _may_meet(self, schema: Schema, texts: Mapping[str, str]) -> bool:
        parts = schema_map(schema, "properties")
        return all(name in texts for name in required_names(schema)) and all(
            self._is_among(texts[name], constants)
            for name in parts.keys() & texts
            if (constants := SchemaPart(self.schema.document, parts[name]).constants)
        )

    def _is_among(self, text: str, constants: Sequence[Json]) -> bool:
        kinds = (SchemaPart.of({"type": kind}) for kind in {*map(json_type, constants)})
        return any(_value_of(text, self.notation, kind)[0] in constants for kind in kinds)

    def _value(self, text: str, schema: SchemaPart) -> Json:
        value, whole = _value_of(text, self.notation, schema)
        self.whole = self.whole and whole
        return value

    def _opened(self, key: str) -> str:
        return f"{self.row.before}{key}{self.row.middle}"

    def _closed(self, key: str) -> str:
        return f"{self.row.after}{key}{self.row.end}" if self.row.keyed_close else self.row.after

    def _key(self) -> str:
        middle = self.row.middle.strip()
        end = self.text.find(middle, self.at) if middle else -1
        key = self.text[self.at : end]
        # A closer with the key in it shows that a name of several words is one.
        words = key.split(" ") if self.row.keyed_close else [key]
        if end < 0 or not all(words) or any(char.isspace() for word in words for char in word):
            raise UnreadableValueError
        self.at = end + len(middle)
        return key

    def _inside(self, opens: str, closes: str) -> str:
        """Return the text of a value up to the closer that belongs to it, and take the closer."""
        opens, closes = opens.strip(), closes.strip()
        begun, depth, at = self.at, 1, self.at
        while depth:
            close = self.text.find(closes, at)
            if close < 0:
                raise UnreadableValueError
            inner = self.text.find(opens, at, close)
            # Elements of one name may be nested, so openings are counted.
            depth += 1 if inner >= 0 else -1
            at = (inner + len(opens)) if inner >= 0 else (close + len(closes))
        self.at = at
        return self.text[begun : at - len(closes)]


def _value_of(text: str, notation: ValueNotation, schema: SchemaPart) -> tuple[Json, bool]:
    """Return the value of a member, and whether it and all in it was read."""
    types = schema.kinds
    if types == STRING_ONLY:
        return notation.string.read(text), True
    # A container without members is written as nothing, e.g. `<items></items>`.
    if not text.strip() and types is not None:
        if "array" in types:
            return [], True
        if "object" in types:
            return {}, True
    try:
        return read_elements(text, notation, schema)
    except UnreadableValueError:
        value = decode_typed(text, types, notation)
        if not isinstance(value, str):
            return value, True
        return notation.string.read(value), not begins_as_elements(text, notation)
