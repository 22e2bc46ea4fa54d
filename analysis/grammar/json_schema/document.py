"""A schema as a document: its places, its references, its keywords' values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard
from urllib.parse import unquote

from autoparser.analysis.conversation import Json

from .errors import SchemaError, escaped

Schema: TypeAlias = dict[str, Json]
"""A schema that is an object; the others are true and false."""

ROOT = "#"


def below(pointer: str, *tokens: str | int) -> str:
    """Give the JSON pointer of something inside."""
    return "/".join([pointer, *(escaped(str(token)) for token in tokens)])


def is_number(value: Json | None) -> TypeGuard[int | float]:
    """Whether a value is a JSON number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def count(schema: Schema, keyword: str) -> int | None:
    """Give a keyword's value where it counts something; None where it is absent."""
    value = schema.get(keyword)
    return int(value) if is_number(value) else None


def schemas_of(schema: Schema, keyword: str) -> list[Json]:
    """Give the schemas of a keyword that holds a list; none where it is absent."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def schema_map(schema: Schema, keyword: str) -> Schema:
    """Give the schemas of a keyword that holds them by name; none where it is absent."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def names_of(schema: Schema, keyword: str) -> list[str]:
    """Give the texts of a keyword that holds a list of them, each once."""
    return list(dict.fromkeys(map(str, schemas_of(schema, keyword))))


def wish_for(pointer: str) -> str:
    """Give the name that a rule for the schema at a pointer would best have: what a person named.

    ``#/properties/city`` is ``city``, its items ``city-item``, the root ``json``.
    """
    named, item = "json", False
    tokens = pointer.split("/")[1:]
    for at, token in enumerate(tokens):
        if at and tokens[at - 1] in _NAMED:
            named, item = token, False
        elif token in _ITEMS:
            item = True
    return f"{named}-item" if item else named


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_ITEMS = frozenset({"items", "prefixItems", "additionalItems", "additionalProperties"})


@dataclass(frozen=True, slots=True)
class Document:
    """The whole schema, in which references are looked up."""

    root: Json

    def resolve(self, reference: str, pointer: str) -> tuple[Json, str]:
        """Follow a ``$ref`` that stands in the schema at `pointer`: the schema and its pointer.

        Raises SchemaError for one that leaves the document or leads nowhere.
        """
        if not re.match(r"#(/|$)", reference):
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
    """Give what a container holds under a name or number, as a tuple of one; None if nothing."""
    if isinstance(value, dict) and token in value:
        return (value[token],)
    if isinstance(value, list) and re.fullmatch(r"0|[1-9]\d*", token) and int(token) < len(value):
        return (value[int(token)],)
    return None
