"""Schemas that all hold, as one: exactly, or side by side.

Keywords that mean something only together are joined together: the members of objects, the items
of arrays, a condition and its branches. What cannot be joined stays as it is, in an ``allOf``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import gcd, lcm

from autoparser.analysis.core.conversation import Json

from .json_type import identity
from .keywords import Schema, is_number, schema_map, schemas_of, without

NOTHING: Schema = {"not": {}}
"""The schema that no value meets, as an object."""

_TOGETHER: tuple[tuple[str, ...], ...] = (
    ("properties", "additionalProperties", "patternProperties"),
    ("prefixItems", "items", "additionalItems"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
)
_UNIT: Mapping[str, tuple[str, ...]] = {keyword: unit for unit in _TOGETHER for keyword in unit}
_MEMBERS, _ITEMS = _TOGETHER[:2]
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
"""They speak of what the schemas around them leave over: nothing may be moved there."""
_HIGHER = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"},
)
_LOWER = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"},
)
_SAYS = frozenset(
    {
        *("type", "enum", "const", "multipleOf", "pattern", "format", "uniqueItems", "required"),
        *("propertyNames", "dependentRequired", "dependentSchemas", "dependencies"),
        *("anyOf", "oneOf", "not", "$ref", "$dynamicRef", "$recursiveRef"),
        *_HIGHER,
        *_LOWER,
    }
)
"""Keywords that stand alone and hold a value to something; all others are annotations."""


class Contradiction(Exception):
    """No value meets both of two schemas."""


def joined(first: Schema, second: Schema) -> tuple[Schema, Schema]:
    """Return a schema for the values of both, and what of the second has to hold beside it.

    Both are without an ``allOf`` of their own. Of annotations, those of the second stay. Raises
    Contradiction.
    """
    found, left = dict(first), Schema()
    for unit in dict.fromkeys(_UNIT.get(keyword, (keyword,)) for keyword in second):
        theirs = {keyword: second[keyword] for keyword in unit if keyword in second}
        ours = {keyword: first[keyword] for keyword in unit if keyword in first}
        if not ours:
            found |= theirs
        elif ours != theirs:
            both_of_them = _unit(unit, ours, theirs)
            if both_of_them is None:
                left |= theirs
            else:
                found = without(found, *(theirs.keys() - both_of_them.keys())) | both_of_them
    return found, left


def conjunction(first: Schema, second: Schema) -> Schema:
    """Return a schema for the values of both, as flat as it goes."""
    if not first or not second:
        return first or second
    if any(keyword in each for each in (first, second) for keyword in _UNEVALUATED):
        return {"allOf": [first, second]}
    sides = [without(each, "allOf") for each in (first, second)]
    beside = [*schemas_of(first, "allOf"), *schemas_of(second, "allOf")]
    try:
        found, left = joined(*sides)
    except Contradiction:
        return NOTHING
    if left:
        beside.append(left)
    return {**found, "allOf": beside} if beside else found


def both(*schemas: Json) -> Json:
    """Return a schema for the values of all of several, as short as it goes."""
    if len(schemas) == 1:
        (only,) = schemas
        if not isinstance(only, dict) or (only and "allOf" not in only):
            return only
    parts: dict[str, Json] = {}
    for schema in schemas:
        parts |= {identity(part): part for part in _conjuncts(schema)}
    if not parts:
        return True
    values = list(parts.values())
    if any(part is False for part in values):
        return False
    return values[0] if len(values) == 1 else {"allOf": values}


def _conjuncts(schema: Json) -> Iterator[Json]:
    if schema is True or schema == {}:
        return
    if isinstance(schema, dict) and schema.keys() == {"allOf"}:
        for inner in schemas_of(schema, "allOf"):
            yield from _conjuncts(inner)
    else:
        yield schema


def _unit(unit: tuple[str, ...], first: Schema, second: Schema) -> Schema | None:
    """Join keywords that go together; None where that cannot be done exactly."""
    if unit is _MEMBERS:
        return _members(first, second)
    if unit is _ITEMS:
        return _items(first, second)
    (keyword, *others) = unit
    if others:
        return None
    if keyword not in first or keyword not in second:
        return None
    value = _value(keyword, first[keyword], second[keyword])
    return None if value is None else {keyword: value[0]}


def _value(keyword: str, first: Json, second: Json) -> tuple[Json] | None:
    """Join two values of a keyword, as a tuple of one; None where that cannot be done."""
    if identity(first) == identity(second):
        return (first,)
    match keyword:
        case "type" | "enum" | "required":
            found = _lists(keyword, _listed(first), _listed(second))
            named = isinstance(first, str) and isinstance(second, str)
            return (found[0] if named else found,)
        case "const":
            raise Contradiction
        case "propertyNames":
            return (both(first, second),)
        case "uniqueItems":
            return (True,)
        case _ if is_number(first) and is_number(second):
            return _number(keyword, first, second)
        case _:
            return None if keyword in _SAYS else (second,)


def _number(keyword: str, first: float, second: float) -> tuple[Json] | None:
    """Join two bounds, counts or steps, as a tuple of one; None where that cannot be done."""
    if keyword in _HIGHER:
        return (max(first, second),)
    if keyword in _LOWER:
        return (min(first, second),)
    if keyword == "multipleOf" and first > 0 and second > 0:
        return (_common_step(first, second),)
    return None if keyword in _SAYS else (second,)


def _common_step(first: float, second: float) -> float:
    """Return the smallest step that is a multiple of both: 1.5 of 0.5 and 0.75."""
    one, other = Fraction(repr(first)), Fraction(repr(second))
    step = Fraction(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator))
    return step.numerator if step.denominator == 1 else float(step)


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _lists(keyword: str, first: list[Json], second: list[Json]) -> list[Json]:
    if keyword == "required":
        return [*{identity(name): name for name in [*first, *second]}.values()]
    if keyword == "type":
        found = _types(first, second)
    else:
        known = {identity(value) for value in second}
        found = [value for value in first if identity(value) in known]
    if not found:
        raise Contradiction
    return found


def _types(first: list[Json], second: list[Json]) -> list[Json]:
    found = [kind for kind in first if kind in second]
    if "number" not in found:
        whole = [kind for kind in (first, second) if "integer" in kind]
        other = second if whole and whole[0] is first else first
        if whole and "number" in other and "integer" not in found:
            found.append("integer")
    return found


def _members(first: Schema, second: Schema) -> Schema | None:
    """Join what is said of members: of each what either says of it, and so of all others."""
    sides = (first, second)
    if any("patternProperties" in side for side in sides):
        return None
    names = [*schema_map(first, "properties"), *schema_map(second, "properties")]
    found: Schema = {}
    if names:
        found["properties"] = {
            name: both(
                *(
                    schema_map(side, "properties").get(name, side.get("additionalProperties", True))
                    for side in sides
                )
            )
            for name in names
        }
    others = [side.get("additionalProperties", True) for side in sides]
    if any("additionalProperties" in side for side in sides):
        found["additionalProperties"] = both(*others)
    return found


def _items(first: Schema, second: Schema) -> Schema | None:
    """Join what is said of items: of each place what either says of it, and so of all others."""
    sides = (first, second)
    if any(isinstance(side.get("items"), list) for side in sides):
        return None
    prefixes = [schemas_of(side, "prefixItems") for side in sides]
    others = [side.get("items", True) for side in sides]
    found: Schema = {}
    if any(prefixes):
        found["prefixItems"] = [
            both(
                *(
                    prefix[at] if at < len(prefix) else other
                    for prefix, other in zip(prefixes, others, strict=True)
                )
            )
            for at in range(max(map(len, prefixes)))
        ]
    if any("items" in side for side in sides):
        found["items"] = both(*others)
    return found
