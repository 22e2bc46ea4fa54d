"""Whether a recursive schema has any finite value.

A node that must hold a node never ends: a model under its grammar would write for ever.
"""

from __future__ import annotations

import json

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import Schema, count, names_of, schema_map, schemas_of

from .schema_options import Resolver


class Ending:
    """Answers for the schemas of one document."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._ends: set[str] = set()

    def of(self, schema: Schema, above: frozenset[str] = frozenset()) -> bool:
        """Whether a flat schema has a value that holds none of the schemas above it."""
        key = json.dumps(schema)
        if key in self._ends:
            return True
        if key in above:
            return False
        above |= {key}
        kinds = schemas_of(schema, "type")
        ends = "enum" in schema or not kinds
        ends = ends or any(
            kind not in {"array", "object"}
            or (kind == "array" and self._array_ends(schema, above))
            or (kind == "object" and self._object_ends(schema, above))
            for kind in kinds
        )
        if ends:
            self._ends.add(key)
        return ends

    def _any(self, schema: Json, above: frozenset[str]) -> bool:
        return any(self.of(option, above) for option in self._resolver.flat(schema))

    def _array_ends(self, schema: Schema, above: frozenset[str]) -> bool:
        least = count(schema, "minItems") or 0
        needed = schemas_of(schema, "prefixItems")[:least]
        if least > len(needed):
            needed.append(schema.get("items", True))
        return all(self._any(item, above) for item in needed)

    def _object_ends(self, schema: Schema, above: frozenset[str]) -> bool:
        properties = schema_map(schema, "properties")
        others = schema.get("additionalProperties", True)
        return all(
            self._any(properties.get(name, others), above) for name in names_of(schema, "required")
        )
