"""A schema with a keyword left out, so that it allows all that it allowed before, and more.

    without_keyword({"type": "string", "pattern": "^a"}, "#/pattern")  # {"type": "string"}

A grammar that cannot enforce a keyword is written from the schema without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from .conversation import Json
from .json_types import json_type
from .schema_document import schemas_in
from .schema_errors import pointer_below
from .schema_keywords import Schema, keys_within, keyword_schemas, map_schemas, without_keywords
from .schema_validation import UNEVALUATED

_WITH: Mapping[str, tuple[str, ...]] = {
    "if": ("then", "else"),
    "contains": ("minContains", "maxContains"),
    "properties": ("additionalProperties",),
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items", "additionalItems"),
}
"""Keywords that would say more, or nothing, without another one."""
_SEEN = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}) | {
    *("contains", "properties", "patternProperties", "prefixItems", "items", "$dynamicRef")
}
"""Keywords that the ``unevaluated`` ones look at."""
_LOOSE = "x-loose"
"""The keyword that holds those that a grammar is held to in part; the standard knows none such."""
_IN_PART = frozenset({"additionalProperties"})
"""Keywords that allow what would not be allowed without them."""

_IN_PLACE = frozenset({"$ref", "allOf", "anyOf"})
"""Keywords by which other schemas may name members of the same value."""
_NAMING = frozenset({"properties", "$ref"})
_VALUES = ("const", "enum")
"""Keywords that list values: of which types these are is still said without them."""


def keyword_places(schema: Json, keyword: str) -> list[str]:
    """Return the pointers of a keyword in a schema."""
    return [pointer_below(at, keyword) for part, at in schemas_in(schema) if keyword in part]


def nearest_place(places: Sequence[str], pointer: str) -> str:
    """Return the one of some places that is the nearest to another one; empty without any.

    What was joined of several schemas knows the place of one of them only.
    """
    return max(places, key=lambda place: (_shared_tokens(place, pointer), -len(place)), default="")


def _shared_tokens(first: str, second: str) -> int:
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def without_keyword(schema: Json, pointer: str, instead: Schema | None = None) -> Json:
    """Return a schema without the keyword at a pointer; the same one where nothing is there.

    Those of `instead` take its place if none of them is there. What allows members that have no
    name stays, and is said to be held to in part: `is_loose`.
    """
    place, _, token = pointer.rpartition("/")
    # `~1` first, as RFC 6901 demands: `~01` stands for `~1`, not for `/`.
    keyword = token.replace("~1", "/").replace("~0", "~")

    def changed(part: Schema) -> Schema:
        rest = _without_own(part, keyword)
        return rest if instead is None or instead.keys() & rest.keys() else {**rest, **instead}

    found = _change_at(schema, "#", place, changed)
    if keyword in _SEEN:
        # Loosen these, too: they apply to the members that other keywords leave, of which there
        # would now be more.
        found = map_schemas(found, lambda part: without_keywords(part, *UNEVALUATED))
    return found


def _change_at(value: Json, at: str, place: str, change: Callable[[Schema], Json]) -> Json:
    """Change the schema at a place."""
    if at == place:
        return change(value) if isinstance(value, dict) else value

    def inner(key: str | int, part: Json) -> Json:
        return _change_at(part, pointer_below(at, key), place, change)

    if not place.startswith(f"{at}/"):
        return value
    if isinstance(value, dict):
        return {key: inner(key, part) for key, part in value.items()}
    return [inner(*item) for item in enumerate(value)] if isinstance(value, list) else value


def is_loose(schema: Schema, keyword: str) -> bool:
    """Whether a grammar may take more than a keyword of this schema allows."""
    return keyword in keyword_schemas(schema, _LOOSE)


def _without_own(schema: Schema, keyword: str) -> Schema:
    if keyword in _IN_PART and not is_loose(schema, keyword):
        return {**schema, _LOOSE: [keyword]}
    if keyword == "oneOf" and keyword in schema:
        union_schema: Schema = {"anyOf": schema["oneOf"]}
        rest = without_keywords(schema, "oneOf")
        return {**rest, **union_schema} if "anyOf" not in rest else {"allOf": [rest, union_schema]}
    rest = without_keywords(schema, keyword, *_WITH.get(keyword, ()))
    if keyword in _VALUES and schema.get(keyword) != [] and "type" not in rest:
        # State the type: if any value is allowed, a text without quotes cannot begin like a list.
        listed = schema.get(keyword)
        values = listed if keyword == "enum" and isinstance(listed, list) else [listed]
        kinds: list[Json] = [*sorted({str(json_type(value)) for value in values})]
        return {**rest, "type": kinds}
    # Be explicit: a notation that writes names twice closes an object that is silent about it.
    opened = "additionalProperties" in _WITH.get(keyword, ()) and "additionalProperties" in schema
    keywords = {keyword, *keys_within(schema.get(keyword))}
    names = keyword in _IN_PLACE and not keywords.isdisjoint(_NAMING)
    if opened or (names and "additionalProperties" not in rest):
        return {**rest, "additionalProperties": True}
    return rest
