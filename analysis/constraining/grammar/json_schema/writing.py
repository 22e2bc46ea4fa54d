"""The two ways in: a schema's values as JSON, and as bare text."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import ROOT, Document, SchemaError, place_of, schemas_of

from .characters import Quoting
from .convert import Converter
from .gbnf_rules import GbnfRules
from .json_tokens import Tokens
from .schema_options import Option
from .schema_survey import survey
from .unwritable import unwritable


def schema_rules(
    schema: Json,
    rules: GbnfRules,
    *,
    item_separator: str = ", ",
    key_separator: str = ": ",
    ascii_only: bool = False,
    sort_keys: bool = False,
    indent: str = "",
) -> str:
    """Add rules for the values of a schema to a table; return the expression of one value.

    The options are those of `json.dumps` (`ascii_only` is its ``ensure_ascii``); with `sort_keys`
    known members come in the order of their names, and with `indent` lines are broken. The
    expression is a rule's name or a literal. Raises SchemaError for a schema that is malformed,
    that no value meets, or that says what a grammar cannot; the rules that were added before are
    then of no use.
    """
    converter = _converter(
        schema,
        rules,
        item_separator,
        key_separator,
        ascii_only=ascii_only,
        sort_keys=sort_keys,
        indent=indent,
    )
    return _some(converter.value(converter.root, ROOT), converter.root)


def text_rules(
    schema: Json,
    rules: GbnfRules,
    *,
    item_separator: str = ", ",
    key_separator: str = ": ",
    ascii_only: bool = False,
    sort_keys: bool = False,
) -> str | None:
    """Do the same for a notation that writes strings bare: without quotes, without escapes.

    Only the value itself is bare; what is inside arrays and objects is JSON. None: any text is a
    value, so that only what follows can say where it ends. Raises SchemaError also for lengths of
    such a text.
    """
    converter = _converter(
        schema, rules, item_separator, key_separator, ascii_only=ascii_only, sort_keys=sort_keys
    )
    free = [
        option for option in converter.resolver.options(converter.root, ROOT) if _is_free(option)
    ]
    for option in free:
        for keyword in ("minLength", "maxLength"):
            if keyword in option.schema:
                raise unwritable(
                    keyword, option.pointer, "bare text ends where what follows begins"
                )
    return (
        None if free else _some(converter.value(converter.root, ROOT, Quoting.BARE), converter.root)
    )


def _converter(
    schema: Json,
    rules: GbnfRules,
    item_separator: str,
    key_separator: str,
    *,
    ascii_only: bool,
    sort_keys: bool,
    indent: str = "",
) -> Converter:
    document = Document.of(schema)
    survey(document)
    quoting = Quoting.JSON_ASCII if ascii_only else Quoting.JSON
    tokens = Tokens(rules, item_separator, key_separator, quoting, indent)
    return Converter(document, tokens, sort_keys=sort_keys)


def _some(expression: str | None, schema: Json) -> str:
    if expression is None:
        place = place_of(schema, ROOT) if isinstance(schema, dict) else ROOT
        raise SchemaError("no value meets this schema", pointer=place)
    return expression


def _is_free(option: Option) -> bool:
    """Whether a schema's strings may hold any text."""
    schema = option.schema
    kinds = schemas_of(schema, "type")
    if "enum" in schema or (kinds and "string" not in kinds):
        return False
    return "pattern" not in schema and "format" not in schema
