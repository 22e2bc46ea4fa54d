"""The types of JSON values, and their equality.

For example, in a schema 1 equals 1.0, but not true:

    >>> json_type(1), json_type(1.0), json_type(True)
    (<JsonType.INTEGER: 'integer'>, <JsonType.NUMBER: 'number'>, <JsonType.BOOLEAN: 'boolean'>)
    >>> value_identity(1) == value_identity(1.0), value_identity(1) == value_identity(True)
    (True, False)
"""

from __future__ import annotations

from enum import StrEnum

from .conversation import Json


class JsonType(StrEnum):
    """The types that a schema can name and a template can distinguish."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    ARRAY = "array"
    OBJECT = "object"


def json_type(value: Json) -> JsonType:
    """Return the JSON type of a decoded value; every float is a number, not an integer."""
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


def value_identity(value: Json) -> str:
    """Return a text that is the same for equal JSON values: 1 equals 1.0, but not true."""
    match value:
        case float() if value.is_integer():
            return repr(int(value))
        case list():
            return f"[{','.join(map(value_identity, value))}]"
        case dict():
            members = sorted(f"{key!r}:{value_identity(inner)}" for key, inner in value.items())
            return f"{{{','.join(members)}}}"
        case _:
            return repr(value)
