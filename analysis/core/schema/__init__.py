"""JSON Schema, read in one place: references, what holds together, types, members.

Below every reader and writer of values: the parser asks `SchemaPart`, the grammars ask the rest.
What is valid is jsonschema's to say.
"""

from .allowed_types import ANY, kinds_of
from .conjunction import NOTHING, Contradiction, both, conjunction, joined
from .json_type import JsonType, identity, type_of
from .keywords import (
    BY_NAME,
    VALUES,
    Schema,
    count,
    is_number,
    mapped,
    names_of,
    references,
    schema_map,
    schemas_of,
    with_names_told_apart,
    without,
    without_free_names,
)
from .leaving_out import is_loose, nearest, without_keyword
from .part import SchemaPart
from .pointers import ROOT
from .schema_document import Document
from .schema_errors import SchemaError, UnheldKeywordError, below, escaped
from .schema_places import place_of, schemas_in, with_places
from .validity import Flaw, Validate, flaws, validator

__all__ = [
    "ANY",
    "BY_NAME",
    "NOTHING",
    "ROOT",
    "VALUES",
    "Contradiction",
    "Document",
    "Flaw",
    "JsonType",
    "Schema",
    "SchemaError",
    "SchemaPart",
    "UnheldKeywordError",
    "Validate",
    "below",
    "both",
    "conjunction",
    "count",
    "escaped",
    "flaws",
    "identity",
    "is_loose",
    "is_number",
    "joined",
    "kinds_of",
    "mapped",
    "names_of",
    "nearest",
    "place_of",
    "references",
    "schema_map",
    "schemas_in",
    "schemas_of",
    "type_of",
    "validator",
    "with_names_told_apart",
    "with_places",
    "without",
    "without_free_names",
    "without_keyword",
]
