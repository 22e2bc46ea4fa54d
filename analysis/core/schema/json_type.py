"""JSON values: their types, and which of them are equal."""

from __future__ import annotations

from enum import StrEnum

from autoparser.analysis.core.conversation import Json


class JsonType(StrEnum):
    """The types that a schema can name and a template can tell apart."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    ARRAY = "array"
    OBJECT = "object"


def type_of(value: Json) -> JsonType:
    """Name the JSON type of a decoded value; a float is a number, also a whole one."""
    match value:
        case None:
            return JsonType.NULL
        case bool():
            return JsonType.BOOLEAN
        case int():
            return JsonType.INTEGER
        case float():
            return JsonType.NUMBER
        case str():
            return JsonType.STRING
        case list():
            return JsonType.ARRAY
        case dict():
            return JsonType.OBJECT


def identity(value: Json) -> str:
    """Return a text that equal JSON values share: 1 and 1.0 are equal, 1 and true are not."""
    match value:
        case float() if value.is_integer():
            return repr(int(value))
        case list():
            return f"[{','.join(map(identity, value))}]"
        case dict():
            members = sorted(f"{key!r}:{identity(inner)}" for key, inner in value.items())
            return f"{{{','.join(members)}}}"
        case _:
            return repr(value)
