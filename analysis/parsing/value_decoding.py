"""Decode the text of a value, in a format's notation, as JSON, or as a Python literal.

`decode_value` tries the notation first, then JSON, then Python, and raises UnreadableValueError.
`decode_typed` decodes raw text by the types of a schema; text of no such type is a string.
"""

from __future__ import annotations

import ast
import html
import json
import math
import re
import warnings

from autoparser.analysis.core.call_notation import ContainerNotation, Row, RowSlot, ValueNotation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import is_mapping, is_row
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_format import StringEscape, StringText, from_python

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


class UnreadableValueError(Exception):
    """The text is not a value of the notation."""


class ValueDecoder:
    """Decodes a value from a whole text in a notation."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, notation: ValueNotation) -> Json:
        """Decode the next value. Raises UnreadableValueError."""
        self._space()
        found = self._string(notation.string)
        if found is not None:
            return found
        for container, keyed in ((notation.object, True), (notation.array, False)):
            if container.open.strip() and self._takes(container.open.strip()):
                return self._entries(container, notation, keyed=keyed)
        for word, value in (
            (notation.true, True),
            (notation.false, False),
            (notation.null, None),
            ("true", True),
            ("false", False),
            ("null", None),
        ):
            if word and self._takes(word):
                return value
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

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _takes(self, wanted: str) -> bool:
        if wanted and self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def _string(self, text: StringText) -> str | None:
        if text.escape is StringEscape.PYTHON or (
            text.open in ('"', "'") and text.escape in _QUOTED
        ):
            return self._quoted()
        opening, close = text.open.strip(), text.close.strip()
        if not opening or not self._takes(opening):
            return None
        end = self._close_of(close, text.escapes)
        inside = self.text[self.at : end]
        self.at = end + len(close)
        return text.read(inside)

    def _close_of(self, close: str, escapes: tuple[str, ...]) -> int:
        """Return the offset of a string's closer that is not inside an escape."""
        words = sorted({close, *escapes}, key=len, reverse=True)
        for match in re.compile("|".join(map(re.escape, words))).finditer(self.text, self.at):
            if match.group() == close:
                return match.start()
        raise UnreadableValueError

    def _quoted(self) -> str | None:
        match = _QUOTES.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        whole = match.group()
        if whole[0] == '"':
            try:
                return str(json.loads(whole, strict=False))
            except ValueError:
                # Python uses this quote too, with escapes that JSON does not have.
                read = from_python(whole)
                return whole[1:-1] if read == whole else read
        return from_python(whole)

    def _entries(self, container: ContainerNotation, outer: ValueNotation, *, keyed: bool) -> Json:
        values = container.values or outer
        close = container.close.strip()
        members: dict[str, Json] = {}
        items: list[Json] = []
        while True:
            self._space()
            if close and self._takes(close):
                return members if keyed else items
            if self.at >= len(self.text):
                raise UnreadableValueError
            self._takes(container.separator.strip())
            self._space()
            if close and self.text.startswith(close, self.at):
                continue
            key, value = self._entry(container, values)
            if keyed:
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
        end = self.text.find(stop, self.at) if stop else -1
        if end < 0:
            raise UnreadableValueError
        key = container.key.read(self.text[self.at : end].strip())
        self.at = end
        return key


_QUOTED = frozenset({StringEscape.JSON, StringEscape.JSON_ASCII})
_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL)


_PYTHON = tuple("'\"[({")
"""First characters of Python literals, except numbers, which JSON covers."""


def decode_value(text: str, notation: ValueNotation) -> Json:
    """Decode a whole text as one value of the notation, JSON or Python.

    Raises UnreadableValueError if it is none of these.
    """
    decoder = ValueDecoder(text)
    try:
        value = decoder.value(notation)
        if decoder.end():
            return value
    except (UnreadableValueError, RecursionError, ValueError):
        pass
    if notation.string.escape in (StringEscape.HTML, StringEscape.JSON_HTML):
        text = html.unescape(text)
    try:
        return require_finite(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        pass
    text = text.strip()
    if text[:1] not in _PYTHON and text not in ("True", "False", "None"):
        raise UnreadableValueError
    try:
        with warnings.catch_warnings():
            # Such as a number before a letter: output of a model causes no warnings.
            warnings.simplefilter("ignore", SyntaxWarning)
            return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise UnreadableValueError from None


def _plain(value: object) -> Json:
    if is_mapping(value):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if is_row(value):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return require_finite(value)
    raise TypeError


def json_value(text: str) -> Json:
    """Decode strict JSON, without NaN and Infinity. Raises ValueError."""
    value: Json = json.loads(text, parse_constant=_no_number)
    return value


def is_huge(text: str) -> bool:
    """Return whether a text is JSON with a number beyond the range of floats."""
    try:
        value = json_value(text)
    except (ValueError, RecursionError):
        return False
    try:
        require_finite(value)
    except ValueError:
        return True
    return False


def _no_number(text: str) -> float:
    raise ValueError(text)


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


def decode_typed(text: str, types: frozenset[str] | None, notation: ValueNotation) -> Json:
    """Decode the raw text of a value whose notation does not quote strings.

    By the schema's types: a string stays as it is; of several types, the first that the text
    reads as, in the order null, boolean, integer, number, array, object, string. Without types,
    text that a value of another type is written as is that value, everything else a string.
    A text that reads as none of its types is a string.
    """
    if types == frozenset({"string"}):
        return text
    try:
        value = decode_value(text, notation)
    except UnreadableValueError:
        return _number(text, types)
    if types is None:
        return value if not isinstance(value, str) else text
    if isinstance(value, float) and value.is_integer() and "number" not in types:
        value = int(value) if "integer" in types else value
    for name, kinds in _TYPES:
        if name in types and isinstance(value, kinds):
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
