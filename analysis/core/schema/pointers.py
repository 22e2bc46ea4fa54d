"""A schema in which every reference is a JSON pointer from its root.

Anchors and schemas with ids of their own are looked up by `referencing`; nothing is fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoparser.analysis.core.conversation import Json

from .keywords import BY_NAME, VALUES, Schema
from .schema_errors import below

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver

ROOT = "#"
_NAMES = ("$id", "$anchor", "$dynamicAnchor")
REFERRING = frozenset({"$ref", *_NAMES})
"""The keywords without which a schema has no reference, and nothing to refer to by a name."""


def is_pointer(reference: str) -> bool:
    """Whether a reference is a JSON pointer into the document that it stands in."""
    return reference == ROOT or reference.startswith("#/")


def with_pointers(root: Json) -> Json:
    """Return a schema whose references are pointers from its root; the same one where they are.

    What leads nowhere stays as it is.
    """
    if not isinstance(root, dict) or not _has_names(root):
        return root
    try:
        return _Rewriting(root).written(root)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # No schema at all in some place: whoever reads that place says so.
        return root


def _has_names(root: Schema) -> bool:
    """Whether a reference may mean anything but a pointer from the root."""
    waiting: list[Json] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and not is_pointer(reference):
                return True
            named = value is not root and not value.keys().isdisjoint(_NAMES)
            if named and any(isinstance(value.get(name), str) for name in _NAMES):
                return True
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
    return False


class _Rewriting:
    """Finds out what references mean before their names are left out."""

    def __init__(self, root: Schema) -> None:
        # They take longer to import than most schemas to read.
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
        """Note where every container stands."""
        if isinstance(value, dict):
            self.places.setdefault(id(value), pointer)
            for key, inner in value.items():
                self._find(inner, below(pointer, key))
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                self._find(inner, below(pointer, at))

    def written(self, schema: Json, resolver: Resolver[Json] | None = None) -> Json:
        """Write a schema anew, its references as pointers and without its names."""
        resolver = resolver or self.resolver
        if isinstance(schema, list):
            return [self.written(inner, resolver) for inner in schema]
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
        return self._referring(found, reference, resolver) if isinstance(reference, str) else found

    def _inside(self, keyword: str, value: Json, resolver: Resolver[Json]) -> Json:
        if keyword in VALUES:
            return value
        if keyword in BY_NAME and isinstance(value, dict):
            return {name: self.written(inner, resolver) for name, inner in value.items()}
        return self.written(value, resolver)

    def _referring(self, found: Schema, reference: str, resolver: Resolver[Json]) -> Schema:
        from referencing.exceptions import Unresolvable  # noqa: PLC0415

        try:
            target = resolver.lookup(reference).contents
        except Unresolvable:
            return found
        if isinstance(target, bool):
            # One true is like another: where it stands does not matter.
            others = found.get("allOf")
            del found["$ref"]
            return {**found, "allOf": [*(others if isinstance(others, list) else []), target]}
        return {**found, "$ref": self.places.get(id(target), reference)}
