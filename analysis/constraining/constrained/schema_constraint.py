"""A JSON schema as a constraint: read, given its whitespace, and put into one form."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from autoparser.analysis.core.value_kind import is_list, is_mapping

from .constraint_errors import ConstraintError

__all__ = ["ANY_JSON", "Whitespace", "read_schema", "schema_text", "with_whitespace"]

ANY_JSON = "$$ANY$$"
"""In place of a schema: any JSON value."""

Whitespace = str
"""Between JSON's tokens: ``flexible`` (any), ``compact`` (none), else a regex for it."""

_ORDERED = frozenset({"properties"})
"""Keywords whose members are written in their order, so that the order is part of the meaning."""
_VALUES = frozenset({"const", "default", "enum", "examples", "x-guidance"})
"""Keywords that hold values, not schemas."""


def read_schema(schema: object, place: str = "json_schema") -> dict[str, Any]:
    """Read a schema: an object, its JSON text, ``$$ANY$$``, true, or a class of pydantic.

    Raises ``ConstraintError`` for anything else; ``false`` too, since no answer fits it.
    """
    method = getattr(schema, "model_json_schema", None)
    if callable(method):
        schema = method()
    if isinstance(schema, str) and schema != ANY_JSON:
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise ConstraintError(f"the schema is not valid JSON: {error}", place=place) from error
    if schema == ANY_JSON or schema is True:
        return {}
    if schema is False:
        raise ConstraintError("the schema is false: no answer can satisfy it", place=place)
    if not is_mapping(schema):
        raise ConstraintError(
            f"a schema is an object, not {type(schema).__name__}",
            place=place,
            hint=f"give a JSON schema, or {ANY_JSON} for any JSON",
        )
    return dict(schema)


def with_whitespace(schema: dict[str, Any], whitespace: Whitespace) -> dict[str, Any]:
    """Tell llguidance the whitespace, where the schema does not (its ``x-guidance``).

    Raises ``ConstraintError`` for a regex where the installed llguidance does not hold to one.
    """
    options: dict[str, Any]
    if whitespace not in ("flexible", "compact") and not _holds_patterns():
        raise ConstraintError(
            "the installed llguidance does not hold whitespace to a regex",
            place="whitespace",
            hint="install llguidance 1.9.1 or later, or say flexible or compact",
        )
    if whitespace == "flexible":
        options = {"whitespace_flexible": True}
    elif whitespace == "compact":
        options = {"whitespace_flexible": False}
    else:
        options = {"whitespace_flexible": True, "whitespace_pattern": whitespace}
    return {**schema, "x-guidance": {**options, **(schema.get("x-guidance") or {})}}


@cache
def _holds_patterns() -> bool:
    """Ask llguidance whether it refuses what a pattern does not have; 1.7 lets it repeat."""
    from llguidance import LLMatcher, LLTokenizer  # noqa: PLC0415 - slow to import

    one_blank = {"whitespace_flexible": True, "whitespace_pattern": " ?"}
    schema = json.dumps({"type": "array", "x-guidance": one_blank})
    grammar = LLMatcher.grammar_from_json_schema(schema)
    blanks = list(b"[  ")
    return LLMatcher(LLTokenizer("byte"), grammar).validate_tokens(blanks) < len(blanks)


def schema_text(schema: dict[str, Any]) -> str:
    """Write a schema in one form: keywords sorted, for two spellings of one schema.

    The order of ``properties`` stays: it is the order in which they are written.
    """
    return json.dumps(_normal(schema), ensure_ascii=False, separators=(",", ":"))


def _normal(schema: object) -> object:
    if is_list(schema):
        return [_normal(part) for part in schema]
    if not is_mapping(schema):
        return schema
    normal: dict[str, object] = {}
    for keyword in sorted(schema):
        value = schema[keyword]
        if keyword in _ORDERED and is_mapping(value):
            normal[keyword] = {name: _normal(part) for name, part in value.items()}
        else:
            normal[keyword] = value if keyword in _VALUES else _normal(value)
    return normal
