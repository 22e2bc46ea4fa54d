"""A schema as a reader of values needs it: what kinds of value, and what of their members."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json

from .allowed_types import ANY, kinds_of
from .conjunction import both
from .json_type import JsonType
from .keywords import Schema, names_of, schema_map, schemas_of
from .schema_document import Document
from .schema_errors import SchemaError

MOST_STEPS = 1000
"""Schemas that are looked at for one member; references that fork grow without bound."""

_UNIONS = ("anyOf", "oneOf")
_OF_OTHER_NAMES = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_ALONE = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema"}
)
"""Keywords that say nothing of the members beside what a schema's own two do."""
_Own: TypeAlias = Callable[[Schema], Json]
"""What a schema's own keywords say of something inside its values."""


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """A schema inside a document. It never raises: what is not a schema says nothing."""

    document: Document
    schema: Json

    @classmethod
    def of(cls, schema: Json) -> SchemaPart:
        """Take a whole schema; None says nothing."""
        document = Document.of(schema)
        return cls(document, document.root)

    @property
    def kinds(self) -> frozenset[JsonType] | None:
        """The types that its values have; None where it allows every type."""
        kinds = self.allowed(self.schema)
        return None if kinds == ANY else kinds

    @property
    def tells_members_alone(self) -> bool:
        """Whether nothing but its own `properties` and `additionalProperties` is about members."""
        return isinstance(self.schema, dict) and self.schema.keys() <= _ALONE

    def member(self, name: str) -> SchemaPart:
        """Return what it says of a member of its objects."""
        if self.tells_members_alone and isinstance(self.schema, dict):
            return SchemaPart(self.document, _member(self.schema, name))
        return SchemaPart(
            self.document, self._inside(JsonType.OBJECT, lambda own: _member(own, name))
        )

    def item(self, at: int) -> SchemaPart:
        """Return what it says of an item of its arrays."""
        return SchemaPart(self.document, self._inside(JsonType.ARRAY, lambda own: _item(own, at)))

    @property
    def names(self) -> frozenset[str]:
        """The members that it declares or requires."""
        parts = islice(self._in_place(self.schema, frozenset()), MOST_STEPS)
        told = ((*schema_map(each, "properties"), *names_of(each, "required")) for each in parts)
        return frozenset(name for names in told for name in names)

    @property
    def invites_other_names(self) -> bool:
        """Whether it says what members are that it does not name."""
        parts = islice(self._in_place(self.schema, frozenset()), MOST_STEPS)
        return any(each.get(word) for each in parts for word in _OF_OTHER_NAMES)

    def allowed(self, schema: Json) -> frozenset[JsonType]:
        """Name the types that a schema of the same document allows."""
        try:
            return kinds_of(schema, self.document)
        except (SchemaError, RecursionError):
            return ANY

    def target(self, schema: Schema, above: frozenset[str]) -> Json:
        """Return what a schema refers to; None where it refers to nothing new."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or reference in above:
            return None
        try:
            return self.document.resolve(reference)[0]
        except SchemaError:
            return None

    def _inside(self, kind: JsonType, own: _Own) -> Json:
        try:
            return _Inside(self, kind, own).said(self.schema, frozenset())
        except RecursionError:
            return True

    def _in_place(self, schema: Json, above: frozenset[str]) -> Iterator[Schema]:
        """Return the schemas that speak of the same value."""
        if not isinstance(schema, dict):
            return
        yield schema
        target = self.target(schema, above)
        if target is not None:
            yield from self._in_place(target, above | {str(schema["$ref"])})
        for keyword in ("allOf", *_UNIONS):
            for part in schemas_of(schema, keyword):
                yield from self._in_place(part, above)


class _Inside:
    """Collects what a schema says of something inside its values of one type."""

    def __init__(self, part: SchemaPart, kind: JsonType, own: _Own) -> None:
        self.part, self.kind, self.own = part, kind, own
        self.left = MOST_STEPS

    def said(self, schema: Json, above: frozenset[str]) -> Json:
        """Return it as a schema; `above` holds the references on the way."""
        self.left -= 1
        if not isinstance(schema, dict) or self.left < 0:
            return True
        found = [self.own(schema)]
        target = self.part.target(schema, above)
        if target is not None:
            found.append(self.said(target, above | {str(schema["$ref"])}))
        found += [self.said(each, above) for each in schemas_of(schema, "allOf")]
        unions = [schemas_of(schema, union) for union in _UNIONS]
        if "if" in schema:
            met: Json = {"allOf": [schema["if"], schema.get("then", True)]}
            unions.append([met, schema.get("else", True)])
        found += [self._either(options, above) for options in unions if options]
        return both(*found)

    def _either(self, options: list[Json], above: frozenset[str]) -> Json:
        """Return what holds in one of several schemas: in those that allow the type at all."""
        fitting = [option for option in options if self.kind in self.part.allowed(option)]
        ways = [self.said(option, above) for option in fitting]
        return {"anyOf": ways} if ways and True not in ways else True


def _member(schema: Schema, name: str) -> Json:
    patterns = schema_map(schema, "patternProperties")
    found = [inner for source, inner in patterns.items() if _matches(name, source)]
    properties = schema_map(schema, "properties")
    if name in properties:
        found.append(properties[name])
    return both(*(found or [schema.get("additionalProperties", True)]))


def _matches(name: str, source: str) -> bool:
    try:
        return re.search(source, name) is not None
    except re.error:
        return False


def _item(schema: Schema, at: int) -> Json:
    items = schema.get("items", True)
    prefix = items if isinstance(items, list) else schemas_of(schema, "prefixItems")
    if at < len(prefix):
        return prefix[at]
    return schema.get("additionalItems", True) if isinstance(items, list) else items
