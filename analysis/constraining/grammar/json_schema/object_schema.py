"""The members of an object, read from its flat schema."""

from __future__ import annotations

from typing import Protocol

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    Schema,
    below,
    both,
    count,
    names_of,
    schema_map,
    schemas_of,
)

from .json_tokens import Tokens
from .member_names import other_name
from .membership import holds
from .objects import Member, ObjectMembers, Others
from .schema_options import Resolver
from .string_schemas import string_expression
from .unwritable import unwritable


class Writer(Protocol):
    """Writes schemas."""

    tokens: Tokens
    resolver: Resolver
    sort_keys: bool

    def value(self, schema: Json, pointer: str) -> str | None:
        """Return the expression of a schema's values; None where it has none."""
        ...


def members_of(schema: Schema, pointer: str, writer: Writer) -> ObjectMembers | None:
    """Read the members; None where one that is required can have no value or name.

    Raises SchemaError where a name's schema would depend on a pattern in ways that cannot be
    written.
    """
    reading = _Reading(schema, pointer, writer)
    properties = schema_map(schema, "properties")
    required = names_of(schema, "required")
    names = list(dict.fromkeys([*properties, *required, *reading.listed()]))
    if writer.sort_keys:
        names.sort()
    known = [Member(name, reading.value(name), name in required) for name in names]
    if any(member.required and member.value is None for member in known):
        return None
    least, most = count(schema, "minProperties") or 0, count(schema, "maxProperties")
    return ObjectMembers(known, reading.others(names), least, most, pointer)


class _Reading:
    def __init__(self, schema: Schema, pointer: str, writer: Writer) -> None:
        self.properties = schema_map(schema, "properties")
        self.patterns = schema_map(schema, "patternProperties")
        self.additional = schema.get("additionalProperties", True)
        self.names = schema.get("propertyNames", True)
        self.is_said = not {"additionalProperties", "propertyNames"}.isdisjoint(schema)
        """Whether the schema says something of names that it does not list."""
        self.pointer = pointer
        self.writer = writer

    def listed(self) -> list[str]:
        """Return all names that are allowed, where `propertyNames` lists them."""
        options = [] if self.patterns else self.writer.resolver.flat(self.names)
        if not options or not all("enum" in option for option in options):
            return []
        names = [name for option in options for name in schemas_of(option, "enum")]
        return [name for name in names if isinstance(name, str)]

    def value(self, name: str) -> str | None:
        """Return the expression of a known member's value; None where it can have none."""
        if not self._is_name(name):
            return None
        schemas = [self.properties[name]] if name in self.properties else []
        schemas += [
            self.patterns[source] for source in self.patterns if self._matches(name, source)
        ]
        if not schemas:
            return self.writer.value(self.additional, below(self.pointer, "additionalProperties"))
        return self.writer.value(both(*schemas), below(self.pointer, "properties", name))

    def others(self, known: list[str]) -> Others | None:
        """Return the members that are not known; None where there may be none."""
        if self.patterns:
            return self._by_pattern(known)
        if self.writer.tokens.rules.names_alone and known and not self.is_said:
            return None
        value = self.writer.value(self.additional, below(self.pointer, "additionalProperties"))
        if value is None:
            return None
        tokens = self.writer.tokens
        if self.listed():
            return None
        if self.names is True:
            return Others(other_name(known, tokens.quoting, tokens.rules), value)
        if any(self._is_name(name) for name in known):
            raise unwritable(
                "propertyNames", self.pointer, "known members would have to be left out of it"
            )
        name = self.writer.value(both({"type": "string"}, self.names), self.pointer)
        return None if name is None else Others(name, value)

    def _by_pattern(self, known: list[str]) -> Others | None:
        why = None
        if len(self.patterns) > 1:
            why = "one name may match several patterns"
        elif self.names is not True:
            why = "propertyNames speaks of the same names"
        elif any(self._matches(name, next(iter(self.patterns))) for name in known):
            why = "known members match it too"
        elif self.writer.resolver.flat(self.additional):
            why = "members that do not match it are allowed; set additionalProperties to false"
        if why is not None:
            raise unwritable("patternProperties", self.pointer, why)
        ((source, schema),) = self.patterns.items()
        place = below(self.pointer, "patternProperties")
        tokens = self.writer.tokens
        name = string_expression(
            {"pattern": source}, place, tokens.quoting, tokens.rules, wish="name"
        )
        value = self.writer.value(schema, below(place, source))
        return None if name is None or value is None else Others(name, value)

    def _is_name(self, name: str) -> bool:
        flat = self.writer.resolver.flat
        return any(holds(name, option, flat) for option in flat(self.names))

    def _matches(self, name: str, source: str) -> bool:
        return holds(name, {"pattern": source}, self.writer.resolver.flat)
