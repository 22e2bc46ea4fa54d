"""A whole schema as a document, in which references are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from autoparser.analysis.core.conversation import Json

from .json_type import JsonType
from .keywords import keys_within
from .pointers import REFERRING, ROOT, is_pointer, with_pointers
from .schema_errors import SchemaError, below


@dataclass(frozen=True, slots=True)
class Document:
    """The whole schema; every reference in it that leads anywhere is a pointer from its root."""

    root: Json
    known: dict[str, frozenset[JsonType]] = field(
        default_factory=dict[str, frozenset[JsonType]], repr=False, compare=False
    )
    """The types that were found after a reference."""
    refers: bool = field(default=True, repr=False, compare=False)
    """Whether anything in it may refer to another place."""

    @classmethod
    def of(cls, schema: Json) -> Document:
        """Read a schema that may refer to itself by pointers, anchors and ids."""
        keys = keys_within(schema)
        root = schema if keys.isdisjoint(REFERRING) else with_pointers(schema)
        return cls(root, refers="$ref" in keys)

    def resolve(self, reference: str, pointer: str = "") -> tuple[Json, str]:
        """Follow a ``$ref`` that stands in the schema at `pointer`: the schema and its pointer.

        Raises SchemaError for one that leaves the document or leads nowhere.
        """
        if not is_pointer(reference):
            raise SchemaError(
                f"$ref {reference!r} leaves the schema; nothing is fetched",
                pointer=pointer,
                keyword="$ref",
                hint="give a JSON pointer into the schema, such as #/$defs/name",
            )
        found = self.root
        place = ROOT
        for token in _tokens(reference):
            inner = _member(found, token)
            if inner is None:
                raise SchemaError(
                    f"$ref {reference!r} leads nowhere: {place} has no {token!r}",
                    pointer=pointer,
                    keyword="$ref",
                )
            found, place = inner[0], below(place, token)
        if not isinstance(found, dict | bool):
            raise SchemaError(
                f"$ref {reference!r} leads to no schema", pointer=pointer, keyword="$ref"
            )
        return found, place


def _tokens(reference: str) -> Iterator[str]:
    for token in unquote(reference[1:]).split("/")[1:]:
        yield token.replace("~1", "/").replace("~0", "~")


def _member(value: Json, token: str) -> tuple[Json] | None:
    """Return what a container holds under a name or number, as a tuple of one; None if nothing."""
    if isinstance(value, dict) and token in value:
        return (value[token],)
    if isinstance(value, list) and re.fullmatch(r"0|[1-9]\d*", token) and int(token) < len(value):
        return (value[int(token)],)
    return None
