"""A schema as a choice of flat schemas: references followed, allOf merged, choices spread out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    Document,
    Schema,
    SchemaError,
    UnheldKeywordError,
    below,
    kinds_of,
    place_of,
    schemas_of,
)

from .disjoint import disjoint
from .flat import tidied
from .flat_merging import merged
from .unwritable import unwritable

MOST_OPTIONS = 500
"""Choices that are merged with choices multiply; this is where that ends."""


@dataclass(frozen=True, slots=True)
class Option:
    """A flat schema, and where it stands."""

    schema: Schema
    pointer: str


@dataclass(frozen=True, slots=True)
class Resolver:
    """Takes schemas of one document apart."""

    document: Document

    def options(
        self, schema: Json, pointer: str, above: frozenset[str] = frozenset()
    ) -> list[Option]:
        """Return the flat schemas of which a value meets at least one; none for `false`.

        `above` holds the references on the way here. Raises SchemaError for a reference that
        leads back to itself, and where schemas cannot be merged or told apart exactly.
        """
        if not isinstance(schema, dict):
            return [Option({}, pointer)] if schema else []
        pointer = place_of(schema, pointer)
        found = [Option(tidied(schema), pointer)]
        if "$ref" in schema:
            found = self._both(found, self._referred(schema, pointer, above), pointer)
        for at, inner in enumerate(schemas_of(schema, "allOf")):
            others = self.options(inner, below(pointer, "allOf", at), above)
            found = self._both(found, others, pointer)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                branches = [
                    self._both(
                        found, self.options(inner, below(pointer, keyword, at), above), pointer
                    )
                    for at, inner in enumerate(schemas_of(schema, keyword))
                ]
                if keyword == "oneOf":
                    self._tell_apart(branches, pointer)
                found = [option for branch in branches for option in branch]
        return found

    def flat(self, schema: Json) -> list[Schema]:
        """Return the flat schemas of a schema inside a flat one."""
        return [option.schema for option in self.options(schema, "#")]

    def _referred(self, schema: Schema, pointer: str, above: frozenset[str]) -> list[Option]:
        reference = str(schema["$ref"])
        if reference in above:
            raise SchemaError(
                f"$ref {reference!r} leads back to itself without a value between",
                pointer=pointer,
                keyword="$ref",
            )
        target, place = self.document.resolve(reference, pointer)
        return self.options(target, place, above | {reference})

    def _both(self, first: list[Option], second: list[Option], pointer: str) -> list[Option]:
        if len(first) * len(second) > MOST_OPTIONS:
            raise SchemaError(
                f"choices beside choices give {len(first) * len(second)} cases",
                pointer=pointer,
                hint="write them as one anyOf",
            )
        found: list[Option] = []
        for one in first:
            for other in second:
                if not one.schema or not other.schema:
                    found.append(one if one.schema else other)
                    continue
                schema = merged(one.schema, other.schema, pointer)
                if schema is not None:
                    found.append(Option(schema, pointer))
        return found

    def _tell_apart(self, branches: list[list[Option]], pointer: str) -> None:
        for at, branch in enumerate(branches):
            for later in range(at + 1, len(branches)):
                if not all(
                    disjoint(one.schema, other.schema, self.flat)
                    for one in branch
                    for other in branches[later]
                ):
                    raise unwritable(
                        "oneOf", pointer, f"its schemas {at} and {later} may both hold"
                    )


def tell_apart(options: Sequence[Json], document: Document, pointer: str) -> None:
    """Raise UnheldKeywordError where two schemas of a ``oneOf`` may both hold."""
    kinds = [kinds_of(option, document) for option in options]
    if all(not one & other for one, other in combinations(kinds, 2)):
        return
    try:
        Resolver(document).options({"oneOf": [*options]}, pointer)
    except UnheldKeywordError as error:
        if error.keyword == "oneOf":
            raise
        why = f"whether two of its schemas may both hold cannot be told: {error.message}"
        raise unwritable("oneOf", pointer, why) from None
