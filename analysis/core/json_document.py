"""What this program writes as JSON, as data classes: a document and its schema have one source.

Contract: a document has the keys of its class, all of them and in their order, and nothing that a
JSON writer refuses. A class is a `JsonDocument`, or any other frozen data class whose fields are
what is to be told; what a field means is said by the text below it, and stands in the schema.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from .conversation import Json

__all__ = [
    "SAVED_FORMATS",
    "AnyJson",
    "Count",
    "Digest",
    "JsonDocument",
    "Positive",
    "RuleCode",
    "SettingValues",
    "json_of",
    "plain",
]

AnyJson = Any
"""Any JSON value; msgspec has no word of its own for the recursive type `Json`."""
SAVED_FORMATS = "autoparser.format/"
"""What the schemas of saved formats begin with, whatever their version."""
RuleCode = Annotated[str, Meta(pattern="^AP[0-9]{3}$")]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Positive = Annotated[int, Meta(ge=1)]
SettingValues = Annotated[
    Mapping[str, AnyJson], Meta(description="Values of the template's switches, by name.")
]


class JsonDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """An object of a document, with the keys that it has."""


def json_of(document: object) -> dict[str, Json]:
    """Return a document's data class as the values that are written."""
    written: dict[str, Json] = to_builtins(document, enc_hook=dict)
    return {name: plain(value) for name, value in written.items()}


def plain(value: Json | tuple[Json, ...]) -> Json:
    """Return a value as JSON can hold it: what is not a number in JSON is given by its name."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value
