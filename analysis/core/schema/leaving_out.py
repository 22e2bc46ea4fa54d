"""A schema with a keyword left out, so that it allows all that it allowed before, and more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile

from autoparser.analysis.core.conversation import Json

from .json_type import type_of
from .keywords import Schema, keys_within, mapped, schemas_of, without
from .schema_errors import below
from .schema_places import schemas_in

_WITH: Mapping[str, tuple[str, ...]] = {
    "if": ("then", "else"),
    "contains": ("minContains", "maxContains"),
    "properties": ("additionalProperties",),
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items", "additionalItems"),
}
"""Keywords that would say more, or nothing, without another one."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
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


def nearest(schema: Json, keyword: str, pointer: str) -> str:
    """Return where a keyword stands, as near as it goes to a place; empty where it is nowhere.

    What was joined of several schemas knows the place of one of them only.
    """
    places = [below(at, keyword) for part, at in schemas_in(schema) if keyword in part]
    return max(places, key=lambda place: (_shared(place, pointer), -len(place)), default="")


def _shared(first: str, second: str) -> int:
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def without_keyword(schema: Json, pointer: str) -> Json:
    """Return a schema without the keyword at a pointer; the same one where nothing is there.

    What allows members that have no name stays, and is said to be held to in part: `is_loose`.
    """
    place, _, token = pointer.rpartition("/")
    keyword = token.replace("~1", "/").replace("~0", "~")
    found = _changed(schema, "#", place, lambda part: _dropped(part, keyword))
    if keyword in _SEEN:
        # Of what other keywords leave over, there would be more than before.
        found = mapped(found, lambda part: without(part, *_UNEVALUATED))
    return found


def _changed(value: Json, at: str, place: str, change: Callable[[Schema], Json]) -> Json:
    """Change the schema at a place."""
    if at == place:
        return change(value) if isinstance(value, dict) else value
    if not place.startswith(f"{at}/"):
        return value
    if isinstance(value, dict):
        return {key: _changed(inner, below(at, key), place, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, below(at, key), place, change) for key, inner in enumerate(value)]
    return value


def is_loose(schema: Schema, keyword: str) -> bool:
    """Whether a grammar may take more than a keyword of this schema allows."""
    return keyword in schemas_of(schema, _LOOSE)


def _dropped(schema: Schema, keyword: str) -> Json:
    if keyword in _IN_PART and not is_loose(schema, keyword):
        return {**schema, _LOOSE: [keyword]}
    if keyword == "oneOf" and keyword in schema:
        either: Schema = {"anyOf": schema["oneOf"]}
        rest = without(schema, "oneOf")
        return {**rest, **either} if "anyOf" not in rest else {"allOf": [rest, either]}
    rest = without(schema, keyword, *_WITH.get(keyword, ()))
    if keyword in _VALUES and schema.get(keyword) != [] and "type" not in rest:
        # Where any value may stand, a text without quotes does not begin as a list does.
        listed = schema.get(keyword)
        values = listed if keyword == "enum" and isinstance(listed, list) else [listed]
        kinds: list[Json] = [*sorted({str(type_of(each)) for each in values})]
        return {**rest, "type": kinds}
    # Said, since a notation that writes names twice closes an object that says nothing of it.
    opened = "additionalProperties" in _WITH.get(keyword, ()) and "additionalProperties" in schema
    told = {keyword, *keys_within(schema.get(keyword))}
    names = keyword in _IN_PLACE and not told.isdisjoint(_NAMING)
    if opened or (names and "additionalProperties" not in rest):
        return {**rest, "additionalProperties": True}
    return rest
