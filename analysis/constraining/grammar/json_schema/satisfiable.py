"""Whether any value meets a schema, as far as the writer of GBNF can tell."""

from __future__ import annotations

import json
from functools import lru_cache

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    ROOT,
    Document,
    SchemaError,
    UnheldKeywordError,
    nearest,
    without_keyword,
)

from .characters import Quoting
from .convert import Converter
from .gbnf_rules import GbnfRules
from .json_tokens import Tokens
from .plain_schemas import all_plain, plain_words
from .schema_survey import survey

_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_MOST_LEFT_OUT = 20


def may_be_met(schema: Json) -> bool:
    """Whether a value may meet a schema; False only where none does.

    Raises SchemaError for a schema that is malformed.
    """
    if isinstance(schema, bool):
        return schema
    if plain_words(schema) is not None:
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


def _is_written(document: Document) -> bool:
    survey(document)
    tokens = Tokens(GbnfRules(), ", ", ": ", Quoting.JSON)
    return Converter(document, tokens).value(document.root, ROOT) is not None
