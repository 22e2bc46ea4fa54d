"""Write a schema's values as GBNF rules.

    schema -> SchemaDocument -> Converter.value, by Resolver.options -> rules, an expression

`schema_rules` writes values as JSON, `text_rules` writes strings bare. Names of rules come from the
schema's own names (`wish_for`); a recursive schema must have a finite value (`Ending`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_document import (
    ROOT,
    SchemaDocument,
    nearest_place,
    place_of,
    without_keyword,
)
from autoparser.analysis.core.schema_keywords import (
    Schema,
    SchemaError,
    UnheldKeywordError,
    keyword_count,
    names_of,
    schema_map,
    schemas_of,
)

from .gbnf_rules import CharacterQuoting, GbnfRules, JsonTokens, gbnf_literal, unwritable_keyword
from .regex_nodes import python_text
from .schema_numbers import number_expression
from .schema_options import ARRAY, NUMBER, OBJECT, Option, Resolver, meets_schema
from .schema_survey import TYPES, all_plain, plain_words, survey_schema
from .schema_values import any_array, any_object, any_value, items_of, members_of, string_expression
from .string_shape import PATTERNS, string_shape

# Names of the rules for the schemas of a document.


def wish_for(pointer: str) -> str:
    """Return the preferred name of the rule for the schema at a pointer, from its author's names.

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

# Recursive schemas without a finite value.
#
# A node that must hold a node never ends: a model under its grammar would write forever.


class Ending:
    """Decides this for the schemas of one document."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._ends: set[str] = set()

    def of(self, schema: Schema, above: frozenset[str] = frozenset()) -> bool:
        """Return whether a flat schema has a value that holds none of the schemas above it."""
        key = json.dumps(schema)
        if key in self._ends:
            return True
        if key in above:
            return False
        above |= {key}
        kinds = schemas_of(schema, "type")
        ends = "enum" in schema or not kinds
        ends = ends or any(
            kind not in {"array", "object"}
            or (kind == "array" and self._array_ends(schema, above))
            or (kind == "object" and self._object_ends(schema, above))
            for kind in kinds
        )
        if ends:
            self._ends.add(key)
        return ends

    def _any(self, schema: Json, above: frozenset[str]) -> bool:
        return any(self.of(option, above) for option in self._resolver.flat(schema))

    def _array_ends(self, schema: Schema, above: frozenset[str]) -> bool:
        least = keyword_count(schema, "minItems") or 0
        needed = schemas_of(schema, "prefixItems")[:least]
        if least > len(needed):
            needed.append(schema.get("items", True))
        return all(self._any(item, above) for item in needed)

    def _object_ends(self, schema: Schema, above: frozenset[str]) -> bool:
        properties = schema_map(schema, "properties")
        others = schema.get("additionalProperties", True)
        return all(
            self._any(properties.get(name, others), above) for name in names_of(schema, "required")
        )


DEEPEST = 60
"""Maximum nesting of values, recursion apart."""


class Converter:
    """Writes the schemas of one document into a table of rules."""

    def __init__(
        self, document: SchemaDocument, tokens: JsonTokens, *, sort_keys: bool = False
    ) -> None:
        self.tokens = tokens
        self.rules = tokens.rules
        self.sort_keys = sort_keys
        self.root = document.root
        self.resolver = Resolver(document)
        self.ending = Ending(self.resolver)
        self._written: dict[tuple[CharacterQuoting, str], str | None] = {}
        self._open: dict[tuple[CharacterQuoting, str], str | None] = {}
        """The schemas being written, with the name of the rule of each that refers to itself."""

    def value(
        self, schema: Json, pointer: str, quoting: CharacterQuoting | None = None
    ) -> str | None:
        """Return the expression of a schema's values, or None if it has none.

        `quoting` is for strings that are the value itself; those inside are written as JSON.
        """
        quoting = quoting or self.tokens.quoting
        found = [self._option(option, quoting) for option in self.resolver.options(schema, pointer)]
        written = list(dict.fromkeys(option for option in found if option is not None))
        if not written:
            return None
        return written[0] if len(written) == 1 else self._named(pointer, written)

    def _named(self, pointer: str, options: list[str]) -> str:
        return self.rules.add(wish_for(pointer), " | ".join(dict.fromkeys(options)))

    def _option(self, option: Option, quoting: CharacterQuoting) -> str | None:
        if not option.schema:
            return any_value(self.tokens)
        key = (quoting, json.dumps(option.schema))
        if key in self._written:
            return self._written[key]
        if key in self._open:
            self._open[key] = self._open[key] or self.rules.reserve(wish_for(option.pointer))
            return self._open[key]
        if not self.ending.of(option.schema):
            return None
        if len(self._open) > DEEPEST:
            raise SchemaError(f"more than {DEEPEST} levels deep", pointer=option.pointer)
        self._open[key] = None
        written = self._flat(option, quoting)
        name = self._open.pop(key)
        if name is not None and written is not None:
            written = self.rules.settle(name, written)
        self._written[key] = written
        return written

    def _flat(self, option: Option, quoting: CharacterQuoting) -> str | None:
        schema, pointer = option.schema, option.pointer
        if "enum" in schema:
            values = [
                value
                for value in schemas_of(schema, "enum")
                if meets_schema(value, schema, self.resolver.flat)
            ]
            constants = [self.constant(value, quoting) for value in values]
            if not constants:
                return None
            return constants[0] if len(constants) == 1 else self._named(pointer, constants)
        kinds = [*map(str, schemas_of(schema, "type") or TYPES)]
        if "number" in kinds:
            kinds = [kind for kind in kinds if kind != "integer"]
        found = [self._typed(kind, schema, pointer, quoting) for kind in kinds]
        written = [expression for expression in found if expression is not None]
        if not written:
            return None
        return written[0] if len(written) == 1 else self._named(pointer, written)

    def _typed(
        self, kind: str, schema: Schema, pointer: str, quoting: CharacterQuoting
    ) -> str | None:
        wish = wish_for(pointer)
        match kind:
            case "null":
                return gbnf_literal("null")
            case "boolean":
                return self.rules.add("boolean", '"true" | "false"')
            case "string":
                return string_expression(schema, pointer, quoting, self.rules, wish=wish)
            case "array":
                if not any(keyword in schema for keyword in ARRAY):
                    return any_array(self.tokens)
                items = items_of(schema, pointer, self.value)
                return self._rule(wish, items.expression(self.tokens))
            case "object":
                if not any(keyword in schema for keyword in OBJECT):
                    return any_object(self.tokens)
                members = members_of(schema, pointer, self)
                written = None if members is None else members.expression(self.tokens)
                return self._rule(wish, written)
            case _:
                numbers = number_expression(schema, pointer, self.rules, whole=kind == "integer")
                if numbers is None:
                    return None
                free = not any(keyword in schema for keyword in NUMBER)
                return self.rules.add(kind if free else wish, numbers)

    def _rule(self, wish: str, body: str | None) -> str | None:
        return None if body is None else self.rules.add(wish, body)

    def constant(self, value: Json, quoting: CharacterQuoting) -> str:
        """Return the expression of one value."""
        tokens = self.tokens
        inner = tokens.quoting
        match value:
            case str():
                return gbnf_literal(f"{quoting.quote}{quoting.text(value)}{quoting.quote}")
            case list():
                items = [self.constant(item, inner) for item in value]
                body = f" {tokens.comma} ".join(items)
                return " ".join(filter(None, [tokens.begin_array, body, tokens.end_array]))
            case dict():
                names = sorted(value) if self.sort_keys else [*value]
                members = [
                    f"{tokens.string(name)} {tokens.colon} {self.constant(value[name], inner)}"
                    for name in names
                ]
                body = f" {tokens.comma} ".join(members)
                return " ".join(filter(None, [tokens.begin_object, body, tokens.end_object]))
            case _:
                return gbnf_literal(json.dumps(value))


# Entry points: a schema's values as JSON, and as bare text.


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

    Only the value itself is bare; values in arrays and objects are JSON. None means any text is a
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
                raise unwritable_keyword(
                    keyword, option.pointer, "bare text ends where what follows begins"
                )
    return (
        None
        if free
        else _some(converter.value(converter.root, ROOT, CharacterQuoting.BARE), converter.root)
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
    document = SchemaDocument.of(schema)
    survey_schema(document)
    quoting = CharacterQuoting.JSON_ASCII if ascii_only else CharacterQuoting.JSON
    tokens = JsonTokens(rules, item_separator, key_separator, quoting, indent)
    return Converter(document, tokens, sort_keys=sort_keys)


def _some(expression: str | None, schema: Json) -> str:
    if expression is None:
        place = place_of(schema, ROOT) if isinstance(schema, dict) else ROOT
        raise SchemaError("no value meets this schema", pointer=place)
    return expression


def _is_free(option: Option) -> bool:
    """Return whether a schema's strings may hold any text."""
    schema = option.schema
    kinds = schemas_of(schema, "type")
    if "enum" in schema or (kinds and "string" not in kinds):
        return False
    return "pattern" not in schema and "format" not in schema


# Whether a schema has any value, as far as the writer of GBNF can tell.


_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_MOST_LEFT_OUT = 20


def may_be_met(schema: Json) -> bool:
    """Return whether a value may meet a schema; False only if none does.

    Raises SchemaError for a schema that is malformed.
    """
    if isinstance(schema, bool):
        return schema
    if plain_words(schema) is not None:
        return True
    return _may_be_met(_AS_JSON(schema))


@lru_cache(maxsize=2048)
def _may_be_met(told: str) -> bool:
    document = SchemaDocument.of(json.loads(told))
    if all_plain(document):
        return True
    for _ in range(_MOST_LEFT_OUT):
        try:
            return _is_written(document)
        except UnheldKeywordError as error:
            # A value that meets the schema also meets the rest of it.
            pointer = nearest_place(document.root, error.keyword, error.pointer)
            if not pointer:
                return True
            document = SchemaDocument.of(without_keyword(document.root, pointer))
        except SchemaError:
            # Too deep, or too many choices: undecided.
            return True
    return True


def _is_written(document: SchemaDocument) -> bool:
    survey_schema(document)
    tokens = JsonTokens(GbnfRules(), ", ", ": ", CharacterQuoting.JSON)
    return Converter(document, tokens).value(document.root, ROOT) is not None


# Whether one text is in a format: for constants, whether the format is regular or not.


def _held(name: str) -> Callable[[str], bool]:
    """Make the check of a format that is held as a pattern."""

    def check(text: str) -> bool:
        regexes = string_shape({"format": name}, ROOT).patterns
        return all(re.fullmatch(python_text(regex), text) for regex in regexes)

    return check


_is_hostname = _held("hostname")


def _is_international_host(text: str) -> bool:
    try:
        return _is_hostname(text.encode("idna").decode("ascii"))
    except UnicodeError:
        return False


def _is_international_email(text: str) -> bool:
    box, _, host = text.rpartition("@")
    return bool(box) and _is_international_host(host)


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


FORMAT_CHECKS: Mapping[str, Callable[[str], bool]] = {
    **{name: _held(name) for name in PATTERNS},
    "regex": _is_regex,
    "idn-email": _is_international_email,
    "idn-hostname": _is_international_host,
}
"""The check of every format of the standard, by its name."""
