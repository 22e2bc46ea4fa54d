"""A whole schema as a document, in which references are resolved.

    {"$defs": {"city": {"type": "string"}}, "$ref": "#/$defs/city"}

Here `SchemaDocument.resolve("#/$defs/city")` is `({"type": "string"}, "#/$defs/city")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from msgspec import Struct

from autoparser.lazy_names import lazy_pattern

from .conversation import Json
from .json_types import JsonType
from .schema_errors import SchemaError, pointer_below
from .schema_keywords import BY_NAME, NOTES, VALUES, Schema, keys_within, may_have_key

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver


# A schema in which every reference is a JSON pointer from its root.
#
# Anchors and schemas with ids of their own are looked up by `referencing`; nothing is fetched.


ROOT = "#"
_NAMES = ("$id", "$anchor", "$dynamicAnchor")
REFERRING = frozenset({"$ref", *_NAMES})
"""Keywords of references and names; a schema without them needs no resolution."""


def is_pointer(reference: str) -> bool:
    """Return whether a reference is a JSON pointer into its own document."""
    return reference == ROOT or reference.startswith("#/")


def with_pointers(root: Json) -> Json:
    """Return the schema with every reference as a pointer from its root.

    References without a target stay unchanged.
    """
    if not isinstance(root, dict) or not _has_names(root):
        return root
    try:
        return _ReferenceRewriter(root).rewrite(root)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # Some part of the schema is invalid; the reader of that part reports it.
        return root


def _has_names(root: Schema) -> bool:
    """Return whether a reference may be something else than a pointer from the root."""
    waiting: list[Json] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and not is_pointer(reference):
                return True
            # An anchor or an id of the root changes no pointer from the root.
            named = value is not root and not value.keys().isdisjoint(_NAMES)
            if named and any(isinstance(value.get(name), str) for name in _NAMES):
                return True
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
    return False


class _ReferenceRewriter:
    """Resolves references before the names that they refer to are removed."""

    def __init__(self, root: Schema) -> None:
        # Imported here: importing them takes longer than reading most schemas.
        from referencing import Registry, Resource  # noqa: PLC0415
        from referencing.jsonschema import DRAFT202012, specification_with  # noqa: PLC0415

        self.places: dict[int, str] = {}
        self._find(root, ROOT)
        dialect = root.get("$schema")
        self.specification: Specification[Any] = DRAFT202012
        if isinstance(dialect, str):
            self.specification = specification_with(dialect, default=DRAFT202012)
        resource: Resource[Json] = self.specification.create_resource(root)
        registry: Registry[Json] = Registry[Json]().with_resource("", resource)
        self.resolver = registry.resolver_with_root(resource)

    def _find(self, value: Json, pointer: str) -> None:
        """Record the pointer of every container."""
        if isinstance(value, dict):
            # One object may be in several places, as with an anchor in YAML: any of them serves.
            self.places.setdefault(id(value), pointer)
            for key, inner in value.items():
                self._find(inner, pointer_below(pointer, key))
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                self._find(inner, pointer_below(pointer, at))

    def rewrite(self, schema: Json, resolver: Resolver[Json] | None = None) -> Json:
        """Return a schema with its references as pointers, and without its names."""
        resolver = resolver or self.resolver
        if isinstance(schema, list):
            return [self.rewrite(inner, resolver) for inner in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$id"), str):
            resolver = resolver.in_subresource(self.specification.create_resource(schema))
        found = {
            keyword: self._inside(keyword, value, resolver)
            for keyword, value in schema.items()
            if keyword not in _NAMES or not isinstance(value, str)
        }
        reference = found.get("$ref")
        return self._point(found, reference, resolver) if isinstance(reference, str) else found

    def _inside(self, keyword: str, value: Json, resolver: Resolver[Json]) -> Json:
        if keyword in VALUES:
            return value
        if keyword in BY_NAME and isinstance(value, dict):
            return {name: self.rewrite(inner, resolver) for name, inner in value.items()}
        return self.rewrite(value, resolver)

    def _point(self, schema: Schema, reference: str, resolver: Resolver[Json]) -> Schema:
        from referencing.exceptions import Unresolvable  # noqa: PLC0415

        try:
            target = resolver.lookup(reference).contents
        except Unresolvable:
            return schema
        if isinstance(target, bool):
            # `true` and `false` have no identity by which to find their place, and need none.
            others = schema.get("allOf")
            del schema["$ref"]
            return {**schema, "allOf": [*(others if isinstance(others, list) else []), target]}
        return {**schema, "$ref": self.places.get(id(target), reference)}


# The places of the parts of a schema before they were joined, moved and taken apart.
#
# It costs a second reading of the schema, with the places written into it, so only errors do it.


_PLACE = "x-place"
"""The keyword for a schema's pointer; no keyword of the standard begins with `x-`."""


def with_places(schema: Json, pointer: str = ROOT, *, towards: Sequence[str] | None = None) -> Json:
    """Return a schema in which every schema that is an object has its pointer as a keyword.

    With `towards`, only the schemas on the way to one of these pointers have one.
    """
    if towards is not None and not any(place.startswith(pointer) for place in towards):
        return schema
    if isinstance(schema, list):
        return [
            with_places(inner, pointer_below(pointer, at), towards=towards)
            for at, inner in enumerate(schema)
        ]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {
        keyword: _keyword_with_places(keyword, value, pointer_below(pointer, keyword), towards)
        if isinstance(value, dict | list) and keyword not in _WITHOUT_SCHEMAS
        else value
        for keyword, value in schema.items()
    }
    return {**found, _PLACE: pointer}


_WITHOUT_SCHEMAS = VALUES | {"dependentRequired"}
_WITH_NAMES = BY_NAME | {"dependencies"}


def _keyword_with_places(
    keyword: str, value: Json, pointer: str, towards: Sequence[str] | None
) -> Json:
    if keyword in _WITH_NAMES and isinstance(value, dict):
        return {
            name: with_places(inner, pointer_below(pointer, name), towards=towards)
            for name, inner in value.items()
        }
    return with_places(value, pointer, towards=towards)


def without_notes(schema: Json) -> Json:
    """Return a schema without the keywords that only describe it.

    Members that differ in their descriptions alone are written once then.
    """
    if not may_have_key(schema, NOTES):
        return schema
    if isinstance(schema, list):
        return [*map(without_notes, schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        keyword: {name: without_notes(inner) for name, inner in value.items()}
        if keyword in _WITH_NAMES and isinstance(value, dict)
        else value
        if keyword in _WITHOUT_SCHEMAS
        else without_notes(value)
        for keyword, value in schema.items()
        if keyword not in NOTES
    }


def schemas_in(schema: Json) -> Iterator[tuple[Schema, str]]:
    """Return the schemas that are objects in a schema, and itself, each with its pointer."""
    found: list[tuple[Schema, str]] = []

    def note(value: Json, pointer: str, *, by_name: bool = False) -> None:
        if isinstance(value, list):
            for at, inner in enumerate(value):
                note(inner, pointer_below(pointer, at))
        elif isinstance(value, dict):
            for keyword, inner in value.items():
                if by_name:
                    note(inner, pointer_below(pointer, keyword))
                elif isinstance(inner, dict | list) and keyword not in _WITHOUT_SCHEMAS:
                    named = keyword in _WITH_NAMES and isinstance(inner, dict)
                    note(inner, pointer_below(pointer, keyword), by_name=named)
            if not by_name:
                found.append((value, pointer))

    note(schema, ROOT)
    return iter(found)


def schema_place(schema: Schema, otherwise: str) -> str:
    """Return the recorded pointer of a schema, or `otherwise` if it has none."""
    place = schema.get(_PLACE)
    return place if isinstance(place, str) else otherwise


def error_of_outer(error: SchemaError, outer: Schema, inner: Json, *tokens: str) -> SchemaError:
    """Return the error of an inner schema as the outer one's, unless it knows its place.

    It is copied, since several outer schemas may share the inner one.
    """
    if isinstance(inner, dict) and _PLACE in inner:
        return error
    place = schema_place(outer, ROOT)
    for token in tokens:
        place = pointer_below(place, token)
    found: list[SchemaError] = []
    for own in (error, *error.more):
        found.append(copy(own))
        if not own.source_text and own.pointer:
            found[-1].pointer = place + own.pointer.removeprefix(ROOT)
    first, *others = found
    first.more = tuple(others)
    return first


_SIGN = lazy_pattern(r"[^\w$.-]")


class SchemaDocument(Struct, frozen=True, dict=True):
    """The whole schema; every reference in it that leads anywhere is a pointer from its root."""

    root: Json
    """The schema, such as `{"type": "object", "properties": {"city": {"type": "string"}}}`."""
    refers: bool = True
    """Whether anything in it may refer to another place, such as `{"$ref": "#/$defs/city"}`."""

    @cached_property
    def known_kinds(self) -> dict[str, frozenset[JsonType]]:
        """The types that were found after a reference."""
        return {}

    @cached_property
    def signed_names(self) -> tuple[str, ...]:
        """Names with signs in them that a notation may write around names, the longest first."""
        names = filter(_SIGN.search, keys_within(self.root))
        return tuple(sorted(names, key=len, reverse=True))

    @classmethod
    def of(cls, schema: Json) -> SchemaDocument:
        """Read a schema that may refer to itself by pointers, anchors and ids."""
        if not may_have_key(schema, REFERRING):
            return cls(schema, refers=False)
        return cls(with_pointers(schema), refers="$ref" in keys_within(schema))

    def resolve(self, reference: str, pointer: str = "") -> tuple[Json, str]:
        """Follow a ``$ref`` that stands in the schema at `pointer`: the schema and its pointer.

        Raises SchemaError for one that leaves the document or leads nowhere.
        """
        if not is_pointer(reference):
            raise SchemaError(
                f"$ref {reference!r} is outside of the schema; remote schemas are not fetched",
                pointer=pointer,
                keyword="$ref",
                hint="give a JSON pointer into the schema, such as #/$defs/name",
            )
        found = self.root
        place = ROOT
        for token in _pointer_tokens(reference):
            inner = _member_at(found, token)
            if inner is None:
                raise SchemaError(
                    f"$ref {reference!r} does not resolve: {place} has no {token!r}",
                    pointer=pointer,
                    keyword="$ref",
                )
            found, place = inner[0], pointer_below(place, token)
        if not isinstance(found, dict | bool):
            raise SchemaError(
                f"$ref {reference!r} does not refer to a schema", pointer=pointer, keyword="$ref"
            )
        return found, place


def _pointer_tokens(reference: str) -> Iterator[str]:
    # A reference is the fragment of a URI, which may be percent-encoded.
    for token in unquote(reference[1:]).split("/")[1:]:
        yield token.replace("~1", "/").replace("~0", "~")


def _member_at(value: Json, token: str) -> tuple[Json] | None:
    """Return the value of a container's key or index, as a tuple of one, or None if it has none."""
    if isinstance(value, dict) and token in value:
        return (value[token],)
    # RFC 6901 allows no leading zeros in an index.
    if isinstance(value, list) and re.fullmatch(r"0|[1-9]\d*", token) and int(token) < len(value):
        return (value[int(token)],)
    return None
