"""Where the parts of a schema stood before they were joined, moved and taken apart.

Only where something went wrong is this worth what it costs: the schema is read once more, with its
places written into it.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json

from .keywords import BY_NAME, VALUES, Schema, mapped
from .pointers import ROOT
from .schema_errors import below

_PLACE = "x-place"
"""The keyword that holds a schema's pointer; the standard knows none that begin so."""


def with_places(schema: Json, pointer: str = ROOT) -> Json:
    """Return a schema in which every schema that is an object says where it stands."""
    if isinstance(schema, list):
        return [with_places(inner, below(pointer, at)) for at, inner in enumerate(schema)]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {
        keyword: _inside(keyword, value, below(pointer, keyword))
        for keyword, value in schema.items()
    }
    return {**found, _PLACE: pointer}


def _inside(keyword: str, value: Json, pointer: str) -> Json:
    if keyword in VALUES or keyword == "dependentRequired":
        return value
    if keyword in (*BY_NAME, "dependencies") and isinstance(value, dict):
        return {name: with_places(inner, below(pointer, name)) for name, inner in value.items()}
    return with_places(value, pointer)


def schemas_in(schema: Json) -> Iterator[tuple[Schema, str]]:
    """Return the schemas that are objects in a schema, and itself, each with its pointer."""
    found: list[tuple[Schema, str]] = []
    mapped(with_places(schema), lambda part: _noted(part, found))
    yield from found


def _noted(part: Schema, found: list[tuple[Schema, str]]) -> Json:
    if _PLACE in part:
        found.append((part, place_of(part, ROOT)))
    return part


def place_of(schema: Schema, otherwise: str) -> str:
    """Return the pointer of where a schema stood; `otherwise` where it does not say."""
    place = schema.get(_PLACE)
    return place if isinstance(place, str) else otherwise
