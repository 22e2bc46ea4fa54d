"""Resolve a schema into a choice of flat schemas.

    schema -> Resolver.options -> flat schemas, of which a value meets at least one

References are followed, allOf is merged (`merge_flat`), and choices are multiplied out; the schemas
of a ``oneOf`` have to be disjoint (`tell_apart`).

A union is multiplied out, and references in it are followed:

    >>> either = [{"minimum": 3}, {"$ref": "#/$defs/T"}]
    >>> schema = {"type": "string", "anyOf": either, "$defs": {"T": {"maxLength": 5}}}
    >>> options = Resolver(SchemaDocument(schema)).options(schema, "#")
    >>> [option.schema for option in options]
    [{'type': ['string'], 'minimum': 3}, {'type': ['string'], 'maxLength': 5}]
    >>> merge_flat({"minimum": 3}, {"minimum": 5, "maximum": 9}, "#")
    {'minimum': 5, 'maximum': 9}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations
from typing import TypeAlias

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import value_identity
from autoparser.analysis.core.schema_document import SchemaDocument, schema_place
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, pointer_below
from autoparser.analysis.core.schema_keywords import (
    Schema,
    is_number,
    keyword_count,
    keyword_schemas,
    required_names,
    schema_map,
)
from autoparser.analysis.core.schema_parts import SchemaContradiction, allowed_types, join_schemas

from .regex_nodes import python_regex
from .schema_numbers import allowed_multiple, number_interval
from .schema_survey import TYPES, UNEVALUATED, unwritable_keyword
from .string_shape import PATTERNS, UNHELD, string_shape

# Flat schemas: keywords that constrain a single value, in one spelling each.
#
# A flat schema has `type` as a list, `enum` (also for `const`), `prefixItems` and `items` (also for
# the older list of `items` with `additionalItems`), and no keyword without an effect.


STRING = ("minLength", "maxLength", "pattern", "format")
NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
ARRAY = ("prefixItems", "items", "minItems", "maxItems", "uniqueItems")
OBJECT = (
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
)
KEYWORDS = frozenset({"type", "enum", *STRING, *NUMBER, *ARRAY, *OBJECT})
"""The keywords of a flat schema."""


def flat_schema(schema: Schema) -> Schema:
    """Return a schema's own keywords as a flat schema, without the schemas it points to."""
    found = dict(schema)
    if isinstance(items := found.get("items"), list):
        del found["items"]
        found["prefixItems"] = items
        if "additionalItems" in found:
            found["items"] = found["additionalItems"]
    for keyword, meant in UNEVALUATED.items():
        if keyword in found:
            found.setdefault(meant, found[keyword])
    if isinstance(kind := found.get("type"), str):
        found["type"] = [kind]
    if "const" in found:
        value = found["const"]
        values = found.get("enum", [value])
        known = (
            {value_identity(item) for item in values} if isinstance(values, list) else set[str]()
        )
        # A constant that the list lacks leaves no value.
        found["enum"] = [value] if value_identity(value) in known else []
    # To the standard, an unknown format means nothing.
    if found.get("format") not in (*PATTERNS, *UNHELD):
        found.pop("format", None)
    return {keyword: value for keyword, value in found.items() if keyword in KEYWORDS}


# The conjunction of two flat schemas.


def merge_flat(first: Schema, second: Schema, pointer: str) -> Schema | None:
    """Return a flat schema for the values of both, or None if they contradict each other.

    Members and items that both constrain get an ``allOf``, to be resolved when they are written.
    Raises SchemaError, with the pointer given, for keywords that cannot be joined exactly.
    """
    try:
        found, left = join_schemas(first, second)
    except SchemaContradiction:
        return None
    if left:
        keyword = next(iter(left))
        if keyword in _MEMBERS:
            raise unwritable_keyword(
                _MEMBERS[0], pointer, "other schemas constrain the same members"
            )
        why = f"{first[keyword]!r} and {left[keyword]!r} would both have to hold"
        raise unwritable_keyword(keyword, pointer, why)
    return found


_MEMBERS = ("patternProperties", "properties", "additionalProperties")
"""The first of them alone keeps the others from being joined."""

# Whether a value meets a flat schema: for the values of an enum with other keywords.


Flat: TypeAlias = Callable[[Json], list[Schema]]
"""Splits a schema into flat ones."""


def meets_schema(value: Json, schema: Schema, flat: Flat) -> bool:
    """Return whether a value meets a flat schema."""
    if "type" in schema and not value_types(value) & {*map(str, keyword_schemas(schema, "type"))}:
        return False
    if "enum" in schema and value_identity(value) not in map(
        value_identity, keyword_schemas(schema, "enum")
    ):
        return False
    match value:
        case str():
            return _text_holds(value, schema)
        case list():
            return _array_holds(value, schema, flat)
        case dict():
            return _object_holds(value, schema, flat)
        case _ if is_number(value):
            return _number_holds(value, schema)
        case _:
            return True


def value_types(value: Json) -> set[str]:
    """Return the names of a value's types; a whole number has two."""
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case dict():
            return {"object"}
        case _:
            return {"integer", "number"} if value == int(value) else {"number"}


def _any_holds(value: Json, schema: Json, flat: Flat) -> bool:
    return any(meets_schema(value, option, flat) for option in flat(schema))


def _text_holds(value: str, schema: Schema) -> bool:
    shape = string_shape(schema, "#")
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        return False
    return all(re.fullmatch(python_regex(regex), value) for regex in shape.patterns)


def _number_holds(value: float, schema: Schema) -> bool:
    # As it is written: 0.1 + 0.2 is not a multiple of 0.1, but 0.3 is.
    number = Decimal(repr(value))
    step = allowed_multiple(schema)
    return number_interval(schema).holds(number) and (step is None or number % step == 0)


def _array_holds(value: list[Json], schema: Schema, flat: Flat) -> bool:
    if not _fits_count(len(value), schema, "Items"):
        return False
    if schema.get("uniqueItems") and len({*map(value_identity, value)}) < len(value):
        return False
    prefix, others = keyword_schemas(schema, "prefixItems"), schema.get("items", True)
    return all(
        _any_holds(item, prefix[at] if at < len(prefix) else others, flat)
        for at, item in enumerate(value)
    )


def _object_holds(value: dict[str, Json], schema: Schema, flat: Flat) -> bool:
    """Return whether an object is valid: its size, its required names, and each member."""
    if not _fits_count(len(value), schema, "Properties"):
        return False
    if not all(name in value for name in required_names(schema)):
        return False
    properties, patterns = schema_map(schema, "properties"), schema_map(schema, "patternProperties")
    for name, inner in value.items():
        schemas = [properties[name]] if name in properties else []
        schemas += [
            patterns[source] for source in patterns if _text_holds(name, {"pattern": source})
        ]
        # Only members that nothing else names are additional ones.
        schemas = schemas or [schema.get("additionalProperties", True)]
        if not all(_any_holds(inner, part, flat) for part in schemas):
            return False
        if not _any_holds(name, schema.get("propertyNames", True), flat):
            return False
    return True


def _fits_count(size: int, schema: Schema, what: str) -> bool:
    least, most = keyword_count(schema, f"min{what}"), keyword_count(schema, f"max{what}")
    return (least is None or size >= least) and (most is None or size <= most)


# Whether two flat schemas certainly have no value in common.


DEEPEST = 8
"""Maximum depth of members that are compared; a recursive schema has no end."""


def are_disjoint(first: Schema, second: Schema, flat: Flat, depth: int = 0) -> bool:
    """Return whether no value can meet both; False also if that cannot be told."""
    for one, other in ((first, second), (second, first)):
        if "enum" in one:
            # Beside listed values, other keywords may rule some of them out.
            values = [
                value for value in keyword_schemas(one, "enum") if meets_schema(value, one, flat)
            ]
            return not any(meets_schema(value, other, flat) for value in values)
    common = _types(first) & _types(second)
    return all(_disjoint_as(kind, first, second, flat, depth) for kind in common)


def _types(schema: Schema) -> set[str]:
    kinds = set(map(str, keyword_schemas(schema, "type") or TYPES))
    # A number may be whole, so the two types have values in common.
    return kinds | {"integer"} if "number" in kinds else kinds


def _disjoint_as(kind: str, first: Schema, second: Schema, flat: Flat, depth: int) -> bool:
    if kind in {"integer", "number"}:
        return _below(first, second) or _below(second, first)
    if kind == "object" and depth < DEEPEST:
        return any(
            _never_both(name, first, second, flat, depth)
            for name in {*required_names(first), *required_names(second)}
        )
    return False


def _below(first: Schema, second: Schema) -> bool:
    """Return whether all numbers of the first schema lie below the second's."""
    for high, high_open in (("maximum", False), ("exclusiveMaximum", True)):
        for low, low_open in (("minimum", False), ("exclusiveMinimum", True)):
            end, start = first.get(high), second.get(low)
            if not is_number(end) or not is_number(start):
                continue
            if end < start or (end == start and (high_open or low_open)):
                return True
    return False


def _never_both(name: str, first: Schema, second: Schema, flat: Flat, depth: int) -> bool:
    """Return whether no value of a member that one schema requires meets both schemas."""
    inner = [_member(name, side) for side in (first, second)]
    return all(
        are_disjoint(left, right, flat, depth + 1)
        for left in flat(inner[0])
        for right in flat(inner[1])
    )


def _member(name: str, schema: Schema) -> Json:
    if "patternProperties" in schema:
        return True  # a pattern might match the name, or not
    return schema_map(schema, "properties").get(name, schema.get("additionalProperties", True))


MOST_OPTIONS = 500
"""Choices that are merged with choices multiply; this is the limit."""


class Option(Struct, frozen=True):
    """A flat schema, and its place."""

    schema: Schema
    """The flat schema, e.g. {"type": ["string"], "enum": ["a"]}."""
    pointer: str
    """Its place for errors, e.g. "#/properties/city/anyOf/0"."""


class Resolver(Struct, frozen=True):
    """Resolves the schemas of one document."""

    document: SchemaDocument
    """The document that references lead through, e.g. the one around {"$ref": "#/$defs/place"}."""

    def options(
        self, schema: Json, pointer: str, above: frozenset[str] = frozenset()
    ) -> list[Option]:
        """Return the flat schemas of which a value meets at least one; empty for `false`.

        `above` holds the references on the way here. Raises SchemaError for a reference that
        refers to itself, and if schemas cannot be merged or told apart exactly.
        """
        if not isinstance(schema, dict):
            return [Option({}, pointer)] if schema else []
        pointer = schema_place(schema, pointer)
        found = [Option(flat_schema(schema), pointer)]
        if "$ref" in schema:
            found = self._combinations(
                found, self._referred_options(schema, pointer, above), pointer
            )
        for at, inner in enumerate(keyword_schemas(schema, "allOf")):
            others = self.options(inner, pointer_below(pointer, "allOf", at), above)
            found = self._combinations(found, others, pointer)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                branches = [
                    self._combinations(
                        found,
                        self.options(inner, pointer_below(pointer, keyword, at), above),
                        pointer,
                    )
                    for at, inner in enumerate(keyword_schemas(schema, keyword))
                ]
                if keyword == "oneOf":
                    self._tell_apart(branches, pointer)
                found = [option for branch in branches for option in branch]
        return found

    def flat(self, schema: Json) -> list[Schema]:
        """Return the flat schemas of a schema inside a flat one."""
        return [option.schema for option in self.options(schema, "#")]

    def _referred_options(
        self, schema: Schema, pointer: str, above: frozenset[str]
    ) -> list[Option]:
        reference = str(schema["$ref"])
        if reference in above:
            raise SchemaError(
                f"$ref {reference!r} refers to itself with no value in between",
                pointer=pointer,
                keyword="$ref",
            )
        target, place = self.document.resolve(reference, pointer)
        return self.options(target, place, above | {reference})

    def _combinations(
        self, first: list[Option], second: list[Option], pointer: str
    ) -> list[Option]:
        """Merge each pair of two unions that apply at once, without contradictory pairs."""
        if len(first) * len(second) > MOST_OPTIONS:
            raise SchemaError(
                f"unions that apply at once have {len(first) * len(second)} combinations",
                pointer=pointer,
                hint="write them as one anyOf",
            )
        found: list[Option] = []
        for left in first:
            for right in second:
                if not left.schema or not right.schema:
                    found.append(left if left.schema else right)
                    continue
                schema = merge_flat(left.schema, right.schema, pointer)
                if schema is not None:
                    found.append(Option(schema, pointer))
        return found

    def _tell_apart(self, branches: list[list[Option]], pointer: str) -> None:
        for at, branch in enumerate(branches):
            for later in range(at + 1, len(branches)):
                if not all(
                    are_disjoint(left.schema, right.schema, self.flat)
                    for left in branch
                    for right in branches[later]
                ):
                    raise unwritable_keyword(
                        "oneOf", pointer, f"its schemas {at} and {later} may both match"
                    )


def tell_apart(options: Sequence[Json], document: SchemaDocument, pointer: str) -> None:
    """Raise UnheldKeywordError if two schemas of a ``oneOf`` may both hold."""
    kinds = [allowed_types(option, document) for option in options]
    if all(not one & other for one, other in combinations(kinds, 2)):
        return
    try:
        Resolver(document).options({"oneOf": [*options]}, pointer)
    except UnheldKeywordError as error:
        if error.keyword == "oneOf":
            raise
        why = f"it is unknown whether two of its schemas may both match: {error.message}"
        raise unwritable_keyword("oneOf", pointer, why) from None
