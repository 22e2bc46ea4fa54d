"""A schema for readers of values: the types that it allows, and the schemas of members and items.

    {"anyOf": [{"type": "string"}, {"type": "null"}]}  ->  kinds {string, null}
    {"properties": {"days": {"type": "integer"}}}      ->  member("days") is {"type": "integer"}

Readers need an answer for any schema, so what is not understood allows everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from math import gcd, lcm
from typing import TypeAlias

from msgspec import Struct

from .conversation import Json
from .error_words import spelling_hint
from .json_types import JsonType, json_type, value_identity
from .schema_document import SchemaDocument
from .schema_errors import SchemaError
from .schema_keywords import (
    Schema,
    is_number,
    keyword_schemas,
    required_names,
    schema_map,
    without_keywords,
)

# The JSON types that a schema allows, including schemas that it refers to and combines.
#
# The set may be too large, never too small: a type stays in unless it is certainly not allowed.
# If numbers are allowed, integers are.


ANY: frozenset[JsonType] = frozenset(JsonType)
NONE: frozenset[JsonType] = frozenset()
_NUMBERS = frozenset({JsonType.INTEGER, JsonType.NUMBER})
_BY_NAME = {str(kind): frozenset({kind}) for kind in JsonType} | {"number": _NUMBERS}
_UNIONS = ("anyOf", "oneOf")
_IN_PLACE = frozenset({"$ref", "allOf", "if", *_UNIONS})
"""Keywords with other schemas for the same value."""
_TELL_KINDS = _IN_PLACE | {"const", "enum", "not"}
"""Keywords by which fewer types are allowed than `type` says."""


def allowed_types(
    schema: Json, document: SchemaDocument, above: frozenset[str] = frozenset()
) -> frozenset[JsonType]:
    """Return the types of values that a schema of the document allows.

    `above` has the references on the way here. Raises SchemaError for an invalid schema, and for a
    reference that refers to itself with no value in between.
    """
    if schema is False:
        return NONE
    if schema is True or schema is None:
        return ANY
    if not isinstance(schema, dict):
        raise SchemaError(
            f"{schema!r} is not a JSON schema",
            hint='give an object such as {"type": "string"}',
        )

    declared = schema.get("type")
    if schema.keys().isdisjoint(_TELL_KINDS) and isinstance(declared, str) and declared in _BY_NAME:
        return _BY_NAME[declared]
    kinds = _own_kinds(schema)
    return (
        kinds
        if schema.keys().isdisjoint(_IN_PLACE)
        else kinds & _other_kinds(schema, document, above)
    )


def _other_kinds(
    schema: Schema, document: SchemaDocument, above: frozenset[str]
) -> frozenset[JsonType]:
    """Return the types that are allowed by the schemas that a schema refers to or combines."""

    def inner(part: Json) -> frozenset[JsonType]:
        return allowed_types(part, document, above)

    kinds = ANY
    if "$ref" in schema:
        kinds &= _referred_kinds(str(schema["$ref"]), document, above)
    for part in keyword_schemas(schema, "allOf"):
        kinds &= inner(part)
    for union in _UNIONS:
        options = keyword_schemas(schema, union)
        if options:
            kinds &= NONE.union(*map(inner, options))
    if "if" in schema:
        # A value of any type may fail `if`, so `if` does not limit the types of `else`.
        met = inner(schema["if"]) & inner(schema.get("then", True))
        kinds &= met | inner(schema.get("else", True))
    return kinds


def _referred_kinds(
    reference: str, document: SchemaDocument, above: frozenset[str]
) -> frozenset[JsonType]:
    if reference in above:
        raise SchemaError(
            f"$ref {reference!r} refers to itself with no value in between",
            hint="refer to it from within a member or an item",
        )
    found = document.known_kinds.get(reference)
    if found is None:
        target, _ = document.resolve(reference)
        found = allowed_types(target, document, above | {reference})
        document.known_kinds[reference] = found
    return found


def _own_kinds(schema: Schema) -> frozenset[JsonType]:
    """Return the types that the keywords for the value itself allow."""
    kinds = _declared_kinds(schema)
    if "const" in schema:
        kinds &= _BY_NAME[json_type(schema["const"])]
    values = schema.get("enum")
    if isinstance(values, list):
        kinds &= NONE.union(*(_BY_NAME[json_type(value)] for value in values))
    refused = schema.get("not")
    if refused == {}:
        return NONE
    # With other keywords, `not` excludes only some values of a type.
    if isinstance(refused, dict) and refused.keys() == {"type"}:
        kinds -= _declared_kinds(refused)
    return NONE if refused is True else kinds


def _declared_kinds(schema: Schema) -> frozenset[JsonType]:
    declared = schema.get("type")
    if isinstance(declared, str) and declared in _BY_NAME:
        return _BY_NAME[declared]
    return ANY if declared is None else NONE.union(*_named_kinds(declared))


def _named_kinds(declared: Json) -> Iterator[frozenset[JsonType]]:
    for name in declared if isinstance(declared, list) else [declared]:
        try:
            yield _BY_NAME[JsonType(str(name))]
        except ValueError:
            raise SchemaError(
                f"{name!r} is not a type of JSON Schema",
                hint=spelling_hint(str(name), JsonType, f"the types are {', '.join(JsonType)}"),
            ) from None


# Conjunctions of schemas: one schema for all, exactly, or side by side in an `allOf`.
#
# Keywords with a meaning only together are joined together: the members of objects, the items of
# arrays, a condition and its branches. Keywords without an exact join stay in an `allOf`.


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
"""They depend on the members that surrounding schemas leave over, so nothing may be moved there."""
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
"""Keywords that constrain a value on their own; all others are annotations."""


class SchemaContradiction(Exception):
    """No value meets both of two schemas."""


def join_schemas(first: Schema, second: Schema) -> tuple[Schema, Schema]:
    """Return a schema for the values of both, and the rest of the second that could not be joined.

    Neither has an `allOf`. Of annotations, those of the second stay. Raises SchemaContradiction.
    """
    found, left = dict(first), Schema()
    for unit in dict.fromkeys(_UNIT.get(keyword, (keyword,)) for keyword in second):
        theirs = {keyword: second[keyword] for keyword in unit if keyword in second}
        ours = {keyword: first[keyword] for keyword in unit if keyword in first}
        if not ours:
            found |= theirs
        elif ours != theirs:
            both_of_them = _join_unit(unit, ours, theirs)
            if both_of_them is None:
                left |= theirs
            else:
                found = (
                    without_keywords(found, *(theirs.keys() - both_of_them.keys())) | both_of_them
                )
    return found, left


def flat_conjunction(first: Schema, second: Schema) -> Schema:
    """Return a schema for the values of both, as flat as possible."""
    if not first or not second:
        return first or second
    if any(keyword in side for side in (first, second) for keyword in _UNEVALUATED):
        return {"allOf": [first, second]}
    sides = [without_keywords(side, "allOf") for side in (first, second)]
    beside = [*keyword_schemas(first, "allOf"), *keyword_schemas(second, "allOf")]
    try:
        found, left = join_schemas(*sides)
    except SchemaContradiction:
        return NOTHING
    if left:
        beside.append(left)
    return {**found, "allOf": beside} if beside else found


def shortest_conjunction(*schemas: Json) -> Json:
    """Return a schema for the values that all of several schemas allow, as short as possible."""
    if len(schemas) == 1:
        (only,) = schemas
        if not isinstance(only, dict) or (only and "allOf" not in only):
            return only
    parts: dict[str, Json] = {}
    for schema in schemas:
        parts |= {value_identity(part): part for part in _conjuncts(schema)}
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
        for inner in keyword_schemas(schema, "allOf"):
            yield from _conjuncts(inner)
    else:
        yield schema


def _join_unit(unit: tuple[str, ...], first: Schema, second: Schema) -> Schema | None:
    """Join keywords that belong together, or return None if no exact join exists."""
    if unit is _MEMBERS:
        return _join_members(first, second)
    if unit is _ITEMS:
        return _join_items(first, second)
    (keyword, *others) = unit
    if others:
        return None
    value = _join_values(keyword, first[keyword], second[keyword])
    return None if value is None else {keyword: value[0]}


def _join_values(keyword: str, first: Json, second: Json) -> tuple[Json] | None:
    """Join two values of a keyword, as a tuple of one, or return None if no exact join exists."""
    if value_identity(first) == value_identity(second):
        return (first,)
    match keyword:
        case "type" | "enum" | "required":
            found = _join_lists(keyword, _as_list(first), _as_list(second))
            named = isinstance(first, str) and isinstance(second, str)
            return (found[0] if named else found,)
        case "const":
            raise SchemaContradiction
        case "propertyNames":
            return (shortest_conjunction(first, second),)
        case "uniqueItems":
            # The values differ, so one of them is true.
            return (True,)
        case _ if is_number(first) and is_number(second):
            return _join_numbers(keyword, first, second)
        case _:
            return None if keyword in _SAYS else (second,)


def _join_numbers(keyword: str, first: float, second: float) -> tuple[Json] | None:
    """Join two bounds, counts or steps to a tuple of one, or return None if that fails."""
    if keyword in _HIGHER:
        return (max(first, second),)
    if keyword in _LOWER:
        return (min(first, second),)
    if keyword == "multipleOf" and first > 0 and second > 0:
        return (_common_step(first, second),)
    return None if keyword in _SAYS else (second,)


def _common_step(first: float, second: float) -> float:
    """Return the smallest step that is a multiple of both: 1.5 of 0.5 and 0.75."""
    # Few schemas join two steps.
    from fractions import Fraction  # noqa: PLC0415

    # By repr, since a float such as 0.1 is not exactly a tenth.
    one, other = Fraction(repr(first)), Fraction(repr(second))
    step = Fraction(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator))
    return step.numerator if step.denominator == 1 else float(step)


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _join_lists(keyword: str, first: list[Json], second: list[Json]) -> list[Json]:
    if keyword == "required":
        return [*{value_identity(name): name for name in [*first, *second]}.values()]
    if keyword == "type":
        found = _join_types(first, second)
    else:
        known = {value_identity(value) for value in second}
        found = [value for value in first if value_identity(value) in known]
    if not found:
        raise SchemaContradiction
    return found


def _join_types(first: list[Json], second: list[Json]) -> list[Json]:
    found = [kind for kind in first if kind in second]
    # Integers are numbers, so `integer` and `number` have `integer` in common.
    if "number" not in found:
        whole = [kind for kind in (first, second) if "integer" in kind]
        other = second if whole and whole[0] is first else first
        if whole and "number" in other and "integer" not in found:
            found.append("integer")
    return found


def _join_members(first: Schema, second: Schema) -> Schema | None:
    """Join the schemas of members: both schemas of a name hold, and both of other names."""
    sides = (first, second)
    # A pattern may match names that the other side declares.
    if any("patternProperties" in side for side in sides):
        return None
    names = [*schema_map(first, "properties"), *schema_map(second, "properties")]
    found: Schema = {}
    if names:
        found["properties"] = {
            name: shortest_conjunction(
                *(
                    schema_map(side, "properties").get(name, side.get("additionalProperties", True))
                    for side in sides
                )
            )
            for name in names
        }
    others = [side.get("additionalProperties", True) for side in sides]
    if any("additionalProperties" in side for side in sides):
        found["additionalProperties"] = shortest_conjunction(*others)
    return found


def _join_items(first: Schema, second: Schema) -> Schema | None:
    """Join the schemas of items: both schemas of an index hold, and both of later items."""
    sides = (first, second)
    # In drafts before 2020-12, a list of `items` is a prefix.
    if any(isinstance(side.get("items"), list) for side in sides):
        return None
    prefixes = [keyword_schemas(side, "prefixItems") for side in sides]
    others = [side.get("items", True) for side in sides]
    found: Schema = {}
    if any(prefixes):
        found["prefixItems"] = [
            shortest_conjunction(
                *(
                    prefix[at] if at < len(prefix) else other
                    for prefix, other in zip(prefixes, others, strict=True)
                )
            )
            for at in range(max(map(len, prefixes)))
        ]
    if any("items" in side for side in sides):
        found["items"] = shortest_conjunction(*others)
    return found


MOST_STEPS = 1000
"""The most schemas visited for one member, since references that fork grow without bound."""
_OF_OTHER_NAMES = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_ALONE = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema"}
)
"""Keywords that say nothing about members, except `properties` and `additionalProperties`."""
_Own: TypeAlias = Callable[[Schema], Json]
"""A function from a schema to the constraints of its own keywords on a value inside its values."""


class SchemaPart(Struct, frozen=True, dict=True):
    """A schema inside a document. It never raises: an invalid schema allows everything."""

    document: SchemaDocument
    """The document in which references are resolved, such as all parameters of `get_forecast`."""
    schema: Json
    """The schema of the part, such as `{"type": "string"}`."""

    @classmethod
    def of(cls, schema: Json) -> SchemaPart:
        """Wrap a whole schema; None says nothing of its values."""
        document = SchemaDocument.of(schema)
        return cls(document, document.root)

    @cached_property
    def kinds(self) -> frozenset[JsonType] | None:
        """The allowed types, or None if unrestricted."""
        kinds = self.allowed(self.schema)
        return None if kinds == ANY else kinds

    @property
    def tells_members_alone(self) -> bool:
        """Whether only its own `properties` and `additionalProperties` constrain members."""
        return isinstance(self.schema, dict) and self.schema.keys() <= _ALONE

    def member(self, name: str) -> SchemaPart:
        """Return the schema of a member of its objects; schemas of named members are cached."""
        found = self._members.get(name)
        if found is None:
            found = self._member(name)
            # Models make up names without end, and the cache must not grow with them.
            if name in self.names:
                self._members[name] = found
        return found

    @cached_property
    def _members(self) -> dict[str, SchemaPart]:
        return {}

    def member_beside(self, name: str, fits: Callable[[Schema], bool]) -> SchemaPart:
        """Return the schema of a member of an object, by the options of unions that fit the object.

        Of these options, the ones that declare the member decide.
        """
        found: Json = False
        if not self.tells_members_alone:
            found = self._inside(
                JsonType.OBJECT, lambda own: fits(own) and _member_schema(own, name), declared=True
            )
        return self.member(name) if found is False else SchemaPart(self.document, found)

    @property
    def constants(self) -> list[Json] | None:
        """The values of its `const` or `enum`, or of the schema that it refers to, or None."""
        own = self.schema if isinstance(self.schema, dict) else {}
        for schema in (own, self.target(own, frozenset())):
            if isinstance(schema, dict) and not schema.keys().isdisjoint(("const", "enum")):
                values = schema.get("enum")
                return values if isinstance(values, list) else [schema.get("const")]
        return None

    def _member(self, name: str) -> SchemaPart:
        if self.tells_members_alone and isinstance(self.schema, dict):
            return SchemaPart(self.document, _member_schema(self.schema, name))
        return SchemaPart(
            self.document, self._inside(JsonType.OBJECT, lambda own: _member_schema(own, name))
        )

    def item(self, at: int) -> SchemaPart:
        """Return the schema of an item of its arrays."""
        return SchemaPart(
            self.document, self._inside(JsonType.ARRAY, lambda own: _item_schema(own, at))
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """The members that it declares or requires."""
        parts = islice(self._in_place(self.schema, frozenset()), MOST_STEPS)
        name_groups = ((*schema_map(part, "properties"), *required_names(part)) for part in parts)
        return frozenset(name for names in name_groups for name in names)

    @cached_property
    def required(self) -> frozenset[str]:
        """The members that the schema itself requires, whatever its branches do."""
        schema = self.schema if isinstance(self.schema, dict) else {}
        return frozenset(required_names(schema))

    @cached_property
    def invites_other_names(self) -> bool:
        """Whether it has schemas for members that it does not name."""
        parts = islice(self._in_place(self.schema, frozenset()), MOST_STEPS)
        return any(part.get(word) for part in parts for word in _OF_OTHER_NAMES)

    def allowed(self, schema: Json) -> frozenset[JsonType]:
        """Return the types that a schema of the same document allows."""
        try:
            return allowed_types(schema, self.document)
        except (SchemaError, RecursionError):
            return ANY

    def target(self, schema: Schema, above: frozenset[str]) -> Json:
        """Return the target of a schema's `$ref`, or None if it has none or leads back."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or reference in above:
            return None
        try:
            return self.document.resolve(reference)[0]
        except SchemaError:
            return None

    def _inside(self, kind: JsonType, own: _Own, *, declared: bool = False) -> Json:
        try:
            return _InnerCollector(self, kind, own, declared).collect(self.schema, frozenset())
        except RecursionError:
            return True

    def _in_place(self, schema: Json, above: frozenset[str]) -> Iterator[Schema]:
        """Yield the schemas for the same value."""
        if not isinstance(schema, dict):
            return
        yield schema
        target = self.target(schema, above)
        if target is not None:
            yield from self._in_place(target, above | {str(schema["$ref"])})
        for keyword in ("allOf", *_UNIONS):
            for part in keyword_schemas(schema, keyword):
                yield from self._in_place(part, above)


class _InnerCollector:
    """Collects the constraints of a schema on a value inside its values of one type."""

    def __init__(self, part: SchemaPart, kind: JsonType, own: _Own, declared: bool) -> None:
        """Store them; with `declared`, an option that allows every value decides only alone."""
        self.part, self.kind, self.own, self.declared = part, kind, own, declared
        self.left = MOST_STEPS

    def collect(self, schema: Json, above: frozenset[str]) -> Json:
        """Return it as a schema; `above` holds the references on the way."""
        self.left -= 1
        if not isinstance(schema, dict) or self.left < 0:
            return True
        found = [self.own(schema)]
        target = self.part.target(schema, above)
        if target is not None:
            found.append(self.collect(target, above | {str(schema["$ref"])}))
        found += [self.collect(part, above) for part in keyword_schemas(schema, "allOf")]
        unions = [keyword_schemas(schema, union) for union in _UNIONS]
        if "if" in schema:
            met: Json = {"allOf": [schema["if"], schema.get("then", True)]}
            unions.append([met, schema.get("else", True)])
        found += [self._union(options, above) for options in unions if options]
        return shortest_conjunction(*found)

    def _union(self, options: list[Json], above: frozenset[str]) -> Json:
        """Return a union of several schemas, without those that do not allow the type."""
        fitting = [option for option in options if self.kind in self.part.allowed(option)]
        ways = [way for option in fitting if (way := self.collect(option, above)) is not False]
        if self.declared:
            ways = [way for way in ways if way is not True] or ways
        # If no option allows the type, or one option allows every value, nothing is known.
        return {"anyOf": ways} if ways and True not in ways else bool(ways) or not fitting


def _member_schema(schema: Schema, name: str) -> Json:
    patterns = schema_map(schema, "patternProperties")
    found = [inner for source, inner in patterns.items() if _matches_pattern(name, source)]
    properties = schema_map(schema, "properties")
    if name in properties:
        found.append(properties[name])
    return shortest_conjunction(*(found or [schema.get("additionalProperties", True)]))


def _matches_pattern(name: str, source: str) -> bool:
    try:
        # Patterns of JSON Schema are not anchored.
        return re.search(source, name) is not None
    except re.error:
        return False


def _item_schema(schema: Schema, at: int) -> Json:
    items = schema.get("items", True)
    # In drafts before 2020-12, a list of `items` is the prefix, and `additionalItems` the rest.
    prefix = items if isinstance(items, list) else keyword_schemas(schema, "prefixItems")
    if at < len(prefix):
        return prefix[at]
    return schema.get("additionalItems", True) if isinstance(items, list) else items
