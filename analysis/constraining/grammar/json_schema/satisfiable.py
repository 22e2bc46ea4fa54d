"""Whether any value meets a schema, as far as the writer of GBNF can tell."""

from __future__ import annotations

import json
from functools import lru_cache

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    ROOT,
    Document,
    Schema,
    SchemaError,
    UnheldKeywordError,
    is_number,
    names_of,
    nearest,
    schema_map,
    schemas_of,
    type_of,
    without_keyword,
)

from .characters import Quoting
from .convert import Converter
from .gbnf_rules import GbnfRules
from .json_tokens import Tokens
from .schema_survey import reachable, survey

_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_SILENT = frozenset(
    {
        "x-place",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "$comment",
        "$defs",
        "definitions",
    }
    | {"$schema", "readOnly", "writeOnly", "nullable", "example"}
)
_MOST_LEFT_OUT = 20
_HOLDERS = frozenset({"properties", "additionalProperties", "items", "anyOf", "oneOf", "$ref"})
"""Keywords of plain schemas that hold others."""
_MEMBERS = frozenset({"type", "properties", "required", "additionalProperties"})


def may_be_met(schema: Json) -> bool:
    """Whether a value may meet a schema; False only where none does.

    Raises SchemaError for a schema that is malformed.
    """
    if isinstance(schema, bool):
        return schema
    if isinstance(schema, dict) and not schema.keys() & _HOLDERS and _is_plain(schema):
        return True
    return _may_be_met(_AS_JSON(schema))


@lru_cache(maxsize=2048)
def _may_be_met(told: str) -> bool:
    document = Document.of(json.loads(told))
    if all_plain(document):
        return True
    for _ in range(_MOST_LEFT_OUT):
        try:
            return _is_written(document)
        except UnheldKeywordError as error:
            # Whatever meets the schema meets the rest of it, too.
            pointer = nearest(document.root, error.keyword, error.pointer)
            if not pointer:
                return True
            document = Document.of(without_keyword(document.root, pointer))
        except SchemaError:
            # Too deep, too many choices: nothing is known of it.
            return True
    return True


def all_plain(document: Document) -> bool:
    """Whether nothing that is said in one place contradicts another: most schemas are so."""
    return all(_is_plain(schema) for schema, _ in reachable(document))


def _is_written(document: Document) -> bool:
    survey(document)
    tokens = Tokens(GbnfRules(), ", ", ": ", Quoting.JSON)
    return Converter(document, tokens).value(document.root, ROOT) is not None


def _is_plain(schema: Schema) -> bool:
    """Whether nothing that a schema says itself can contradict the rest of it."""
    said = schema.keys() - _SILENT
    if said <= _MEMBERS:
        named = schema_map(schema, "properties")
        free = schema.get("additionalProperties") is not False
        return False not in named.values() and (
            free or set(names_of(schema, "required")) <= set(named)
        )
    if said <= {"type", "items"}:
        return True
    if said == {"type", "enum"}:
        values = schemas_of(schema, "enum")
        return bool(values) and all(type_of(value) == schema["type"] for value in values)
    if len(said) == 1 and said <= _CHOICES:
        return True
    return (
        frozenset(said - {"type"}) in _PAIRS and _is_open(schema, *sorted(said - {"type"}))
    ) or (len(said - {"type"}) == 1 and said - {"type"} <= _ALONE)


def _is_open(schema: Schema, upper: str, lower: str) -> bool:
    """Whether more than one whole number lies between two bounds."""
    least, most = schema[lower], schema[upper]
    return is_number(least) and is_number(most) and most - least >= 1


_CHOICES = frozenset({"anyOf", "oneOf", "$ref"})
_PAIRS = frozenset(
    frozenset(pair)
    for pair in (("maximum", "minimum"), ("maxLength", "minLength"), ("maxItems", "minItems"))
)
_ALONE = frozenset(
    {"pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems"}
)
"""Keywords that contradict nothing where they stand beside a type only."""
