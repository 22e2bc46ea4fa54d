r"""Distinguish unquoted texts from the values of other types that they resemble.

If a schema allows `"ab"` of two letters or an integer, `12` is an integer and `123` another one, so
both can be written. If the integer must be above 20, `12` would still be read as one, and be
invalid: no grammar could hold such a text to the schema. Nor can `"12"` be written if -1 is
allowed, too: the reader returns a 12.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

from autoparser.analysis.core.call_notation import ValueNotation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.schema_document import ROOT, schema_place
from autoparser.analysis.core.schema_errors import UnheldKeywordError
from autoparser.analysis.core.schema_keywords import Schema, keyword_schemas
from autoparser.analysis.core.schema_parts import ANY, SchemaPart
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.parsing.raw_text import raw_value_json

from .code_points import CodePoints
from .grammar_rules import FreeProse, JsonValue, PatternNode
from .regex_nodes import regex_alphabet
from .rule_paths import Item, Path, distinct_paths
from .schema_options import ARRAY, NUMBER, OBJECT
from .schema_reader import SchemaReader
from .string_shape import StringShape, is_filled, string_shape

_PLAIN = {
    "integer": r"-?(?:0|[1-9][0-9]*)",
    # No number beyond the range of floats, which a reader would take for a text.
    "number": r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?",
    "boolean": "true|false",
    "null": "null",
}
_ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples", "x-place"})
_SAYS_NOTHING = frozenset({*_ANNOTATIONS, "format", "pattern", "minLength", "maxLength"})
"""Keywords that constrain none of these values: some apply to strings alone."""


class BareValue(Struct, frozen=True):
    """A value whose text may stand without quotes, as its reader knows it."""

    schema: Json
    """The schema of the value, with all its unions, e.g. {"type": "integer"}."""
    kinds: frozenset[JsonType]
    """The types that the reader takes a text for, e.g. {`JsonType.STRING`}: it knows the whole
    schema of a tool."""

    def fixed_texts(
        self, values: Sequence[Json], schema: Schema, notation: ValueNotation
    ) -> list[str]:
        """Return the texts of the only values of a schema, without those that are read otherwise.

        Raises UnheldKeywordError if none is left.
        """
        found = [notation.write(value) for value in values if self._gives_back(value, notation)]
        # An empty list of values allows nothing anyway; only strings that are lost are an error.
        if values and not found:
            keyword = "const" if "const" in schema else "enum"
            raise _read_otherwise(keyword, schema_place(schema, ROOT))
        return found

    def _gives_back(self, value: Json, notation: ValueNotation) -> bool:
        """Return whether a string that is written as it stands is read as that string."""
        if not isinstance(value, str) or not is_bare(notation.string):
            return True
        types = None if self.kinds == ANY else frozenset(map(str, self.kinds))
        text = notation.write(value)
        read = raw_value_json(text, SchemaPart.of(True), types, notation, quoted=False)
        return isinstance(json.loads(read.json), str)

    def hold(self, reader: SchemaReader) -> None:
        """Raise UnheldKeywordError if some string would be read as a value the schema forbids."""
        # Sorted, so that the same keyword is named in every run.
        for kind in sorted(self.kinds - {JsonType.STRING}):
            constraint = _constraint_of(reader, self.schema, kind)
            if constraint is not None:
                part, keyword = constraint
                raise _read_otherwise(keyword, schema_place(part, ROOT))


def least_of_any_text(
    reader: SchemaReader, schema: Schema, kinds: frozenset[JsonType]
) -> int | None:
    """Return the length from which any string is allowed among values of some types.

    That is 0 or 1, or None if not every string is allowed, empty or not.
    """
    options = reader.options(schema)
    if len(options) > 1:
        found = [least_of_any_text(reader, option, kinds) for option in options]
        return min((least for least in found if least is not None), default=None)
    (only,) = options
    if JsonType.STRING not in kinds & reader.kinds(only):
        return None
    if only.keys() & {"const", "enum", "not", "if", "allOf"}:
        return None
    shape = string_shape(only, ROOT)
    return shape.least if not shape.keywords or is_filled(shape) else None


def is_bare(text: StringText) -> bool:
    """Return whether nothing encloses a string, so that its type is read off its text."""
    return not text.open and text.escape not in _QUOTING


_QUOTING = frozenset({StringEscape.PYTHON, StringEscape.JSON, StringEscape.JSON_ASCII})
_OF_KIND: Mapping[JsonType, tuple[str, ...]] = {
    JsonType.INTEGER: NUMBER,
    JsonType.NUMBER: NUMBER,
    JsonType.ARRAY: (*ARRAY, "contains", "unevaluatedItems"),
    JsonType.OBJECT: (*OBJECT, "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
}
_OPEN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*ARRAY, *OBJECT), ("true", "{}", "[]", "0")),
    "uniqueItems": ("false",),
}
"""Values of keywords that allow everything, as JSON."""
_OF_ALL = ("const", "enum", "not", "if", "$dynamicRef", "$recursiveRef")


def _constraint_of(reader: SchemaReader, schema: Json, kind: JsonType) -> tuple[Schema, str] | None:
    """Return a keyword that constrains values of a type, with its schema, or None."""
    found = reader.resolved(schema)
    # The reader takes texts for this type, which the schema does not even allow.
    if kind not in reader.kinds(found):
        return found, next((keyword for keyword in ("type", *_OF_ALL) if keyword in found), "type")
    options = reader.options(found)
    if len(options) > 1:
        fitting = [option for option in options if kind in reader.kinds(option)]
        constraints = [_constraint_of(reader, option, kind) for option in fitting]
        # An option without a constraint allows all values of the type.
        return None if None in constraints else constraints[0]
    (only,) = options
    # The only null is allowed.
    if kind is JsonType.NULL:
        return None
    for keyword in (*_OF_ALL, *_OF_KIND.get(kind, ())):
        if keyword in only and not _is_silent(keyword, only[keyword]):
            return only, keyword
    beside = (_constraint_of(reader, part, kind) for part in keyword_schemas(only, "allOf"))
    return next(filter(None, beside), None)


def _is_silent(keyword: str, value: Json) -> bool:
    """Return whether a keyword does not constrain values whose type is allowed."""
    if keyword == "not":
        return isinstance(value, dict) and value.keys() == {"type"}
    value_text = json.dumps(value)
    return value_text in _OPEN.get(keyword, ())


def _read_otherwise(keyword: str, pointer: str) -> UnheldKeywordError:
    return UnheldKeywordError(
        f"{keyword} cannot be enforced if a string without quotes may be parsed as another type",
        pointer=pointer,
        keyword=keyword,
        hint="allow strings alone",
    )


def told_apart(ways: Sequence[Path], closes: Sequence[str]) -> list[Path]:
    """Return the ways to write a value, each once, its texts told from its other values.

    `closes` are texts that end a value. Raises UnheldKeywordError if that cannot be.
    """
    known = set(ways)
    # A text with a shape is also a text without one, so a reader could not distinguish the two.
    ways = [way for way in ways if (free := _of_any_shape(way)) == way or free not in known]
    firsts = [way[0] for way in ways if way]
    for item in firsts:
        if isinstance(item, FreeProse) or (isinstance(item, PatternNode) and not item.close):
            _hold_apart(item.shape, ways)
    if not any(isinstance(first, JsonValue) for first in firsts):
        return distinct_paths(ways)
    proses = [first.shape for first in firsts if isinstance(first, FreeProse)]
    # A reader finds the end of these texts by their escapes, so treat them like free text.
    escaped = [first.shape for first in firsts if isinstance(first, PatternNode) and first.escapes]
    shape = next(filter(None, [*proses, *escaped]), None)
    if shape is None:
        return distinct_paths(ways) if proses else _constants_in_tokens(ways, firsts)
    found: list[Path] = []
    for way in ways:
        first = by_its_text(way[0], closes) if way else None
        if isinstance(first, JsonValue) and (proses or not _PLAIN.keys().isdisjoint(_types(first))):
            raise _read_otherwise(shape.keywords[0], shape.pointer)
        found.append(way if first is None else (first, *way[1:]))
    return distinct_paths(found) if proses else _constants_in_tokens(found, firsts)


def _of_any_shape(way: Path) -> Path:
    return tuple(
        replace(item, shape=None) if isinstance(item, FreeProse | PatternNode) else item
        for item in way
    )


def _hold_apart(shape: StringShape | None, ways: Sequence[Path]) -> None:
    """Raise UnheldKeywordError if a text may begin as a value that is written in parts.

    Readers take the longest text that something begins with: where three letters may stand, `[1,`
    is such a text, and `[1, 2]` is refused.
    """
    if shape is None or not shape.regexes:
        return
    letters = regex_alphabet(shape.regexes[0], first=True)
    for way in ways:
        if any(letters & CodePoints.of(begin[0]) for begin in _begins_parts(way)):
            raise _read_otherwise(shape.keywords[0], shape.pointer)


def _begins_parts(way: Path) -> list[str]:
    """Return the opening of a value that is written in parts; empty for any other."""
    head = way[0] if way else None
    if isinstance(head, JsonValue):
        kinds = _types(head)
        return [begin for kind, begin in (("array", "["), ("object", "{")) if kind in kinds]
    return [head] if isinstance(head, str) and len(way) > 1 else []


def _constants_in_tokens(ways: Sequence[Path], firsts: Sequence[Item]) -> list[Path]:
    token_ways = (_in_tokens(way, firsts) for way in ways)
    return distinct_paths([way for way in token_ways if way is not None])


def _in_tokens(way: Path, firsts: Sequence[Item]) -> Path | None:
    """Return a constant as JSON if other values of its type may stand; None if it is one of them.

    Readers take the longest text that something begins with: after `[1` they would wait for the
    rest of `[1, 1]`, and refuse `[10]`. Of two texts in quotes, the quote would be cut off.
    """
    head = way[0] if way else None
    if not isinstance(head, str):
        return way
    try:
        value: Json = json.loads(head)
    except ValueError:
        return way
    kind = json_type(value)
    kinds = {str(kind), "number"} if kind is JsonType.INTEGER else {str(kind)}
    values = (first for first in firsts if isinstance(first, JsonValue))
    beside = next((other for other in values if not kinds.isdisjoint(_types(other))), None)
    if beside is None:
        return way
    keywords = beside.schema.keys() - _ANNOTATIONS if isinstance(beside.schema, dict) else ()
    # A type without keywords allows the constant already.
    return None if not keywords else (JsonValue({"const": value}, beside.style), *way[1:])


def _types(value: JsonValue) -> list[str]:
    kind = value.schema.get("type", [*ANY]) if isinstance(value.schema, dict) else [*ANY]
    return [str(name) for name in (kind if isinstance(kind, list) else [kind])]


def within_floats(way: Path, closes: Sequence[str]) -> Path:
    """Return a way with numbers that a float holds: a reader of Python's literals takes no other.

    JSON's own `8e924` would make a text of the whole object that it stands in.
    """
    return tuple(
        by_its_text(item, closes)
        if isinstance(item, JsonValue) and "number" in _types(item)
        else item
        for item in way
    )


def by_its_text(item: Item, closes: Sequence[str] = ()) -> Item:
    """Return a value that nothing is said of but its type as text, which ends with its close."""
    if not isinstance(item, JsonValue) or not isinstance(item.schema, dict):
        return item
    kinds = _types(item)
    if item.schema.keys() - _SAYS_NOTHING or not set(kinds) <= _PLAIN.keys():
        return item
    regex = "|".join(_PLAIN[kind] for kind in kinds)
    return PatternNode(f"(?:{regex})", escapes=tuple(filter(None, closes)))
