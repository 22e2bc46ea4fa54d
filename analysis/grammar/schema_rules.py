"""Write a schema's values as GBNF rules.

    schema -> SchemaDocument -> Converter.value, by Resolver.options -> rules, an expression

`schema_rules` writes values as JSON, of objects first what `members_of` reads. Names of rules come
from the schema's own names (`wish_for`); a recursive schema must have a finite value (`Ending`).
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
    pointer_below,
    schema_map,
    schemas_of,
)
from autoparser.analysis.core.schema_parts import shortest_conjunction

from .gbnf_rules import GbnfRules, JsonStyle, JsonTokens, gbnf_literal, unwritable_keyword
from .regex_nodes import python_text
from .schema_numbers import number_expression
from .schema_options import ARRAY, NUMBER, OBJECT, Option, Resolver, meets_schema
from .schema_survey import TYPES, all_plain, plain_words, survey_schema
from .schema_values import (
    Member,
    ObjectMembers,
    Others,
    any_array,
    any_object,
    any_value,
    items_of,
    other_name,
    string_expression,
)
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

    def __init__(self, document: SchemaDocument, tokens: JsonTokens) -> None:
        self.tokens = tokens
        self.rules = tokens.rules
        self.root = document.root
        self.resolver = Resolver(document)
        self.ending = Ending(self.resolver)
        self._expressions: dict[str, str | None] = {}
        self._open: dict[str, str | None] = {}
        """The schemas being written, with the name of the rule of each that refers to itself."""

    def value(self, schema: Json, pointer: str) -> str | None:
        """Return the expression of a schema's values, or None if it has none."""
        found = [self._option(option) for option in self.resolver.options(schema, pointer)]
        written = list(dict.fromkeys(option for option in found if option is not None))
        if not written:
            return None
        return written[0] if len(written) == 1 else self._options_rule(pointer, written)

    def _options_rule(self, pointer: str, options: list[str]) -> str:
        return self.rules.add(wish_for(pointer), " | ".join(dict.fromkeys(options)))

    def _option(self, option: Option) -> str | None:
        if not option.schema:
            return any_value(self.tokens)
        key = json.dumps(option.schema)
        if key in self._expressions:
            return self._expressions[key]
        if key in self._open:
            self._open[key] = self._open[key] or self.rules.reserve(wish_for(option.pointer))
            return self._open[key]
        if not self.ending.of(option.schema):
            return None
        if len(self._open) > DEEPEST:
            raise SchemaError(f"more than {DEEPEST} levels deep", pointer=option.pointer)
        self._open[key] = None
        written = self._flat(option)
        name = self._open.pop(key)
        if name is not None and written is not None:
            written = self.rules.settle(name, written)
        self._expressions[key] = written
        return written

    def _flat(self, option: Option) -> str | None:
        schema, pointer = option.schema, option.pointer
        if "enum" in schema:
            # Each is of the enum: to look it up there again takes the square of their number.
            others = {keyword: held for keyword, held in schema.items() if keyword != "enum"}
            values = [
                value
                for value in schemas_of(schema, "enum")
                if meets_schema(value, others, self.resolver.flat)
            ]
            constants = [self.constant(value) for value in values]
            if not constants:
                return None
            return constants[0] if len(constants) == 1 else self._options_rule(pointer, constants)
        kinds = [*map(str, schemas_of(schema, "type") or TYPES)]
        if "number" in kinds:
            kinds = [kind for kind in kinds if kind != "integer"]
        found = [self._typed(kind, schema, pointer) for kind in kinds]
        written = [expression for expression in found if expression is not None]
        if not written:
            return None
        return written[0] if len(written) == 1 else self._options_rule(pointer, written)

    def _typed(self, kind: str, schema: Schema, pointer: str) -> str | None:
        wish = wish_for(pointer)
        match kind:
            case "null":
                return gbnf_literal("null")
            case "boolean":
                return self.rules.add("boolean", '"true" | "false"')
            case "string":
                quoting = self.tokens.style.quoting
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

    def constant(self, value: Json) -> str:
        """Return the expression of one value."""
        tokens = self.tokens
        match value:
            case str():
                return tokens.string(value)
            case list():
                items = [self.constant(item) for item in value]
                body = f" {tokens.comma} ".join(items)
                return " ".join(filter(None, [tokens.begin_array, body, tokens.end_array]))
            case dict():
                members = [
                    f"{tokens.string(name)} {tokens.colon} {self.constant(inner)}"
                    for name, inner in value.items()
                ]
                body = f" {tokens.comma} ".join(members)
                return " ".join(filter(None, [tokens.begin_object, body, tokens.end_object]))
            case _:
                return gbnf_literal(json.dumps(value))


# The members of an object, read from its flat schema.


def members_of(schema: Schema, pointer: str, writer: Converter) -> ObjectMembers | None:
    """Read the members; return None if a required one can have no value or name.

    Raises SchemaError if a name's schema would depend on a pattern in ways that cannot be
    written.
    """
    reading = _Reading(schema, pointer, writer)
    properties = schema_map(schema, "properties")
    required = names_of(schema, "required")
    names = list(dict.fromkeys([*properties, *required, *reading.listed()]))
    known = [Member(name, reading.value(name), name in required) for name in names]
    if any(member.required and member.value is None for member in known):
        return None
    least, most = (
        keyword_count(schema, "minProperties") or 0,
        keyword_count(schema, "maxProperties"),
    )
    return ObjectMembers(known, reading.others(names), least, most, pointer)


class _Reading:
    def __init__(self, schema: Schema, pointer: str, writer: Converter) -> None:
        self.properties = schema_map(schema, "properties")
        self.patterns = schema_map(schema, "patternProperties")
        self.additional = schema.get("additionalProperties", True)
        self.names = schema.get("propertyNames", True)
        self.is_said = not {"additionalProperties", "propertyNames"}.isdisjoint(schema)
        """Whether the schema constrains names that it does not list."""
        self.pointer = pointer
        self.writer = writer

    def listed(self) -> list[str]:
        """Return all names that are allowed, if `propertyNames` lists them."""
        options = [] if self.patterns else self.writer.resolver.flat(self.names)
        if not options or not all("enum" in option for option in options):
            return []
        names = [name for option in options for name in schemas_of(option, "enum")]
        return [name for name in names if isinstance(name, str)]

    def value(self, name: str) -> str | None:
        """Return the expression of a known member's value, or None if it can have none."""
        if not self._is_name(name):
            return None
        schemas = [self.properties[name]] if name in self.properties else []
        schemas += [
            self.patterns[source] for source in self.patterns if self._matches(name, source)
        ]
        if not schemas:
            return self.writer.value(
                self.additional, pointer_below(self.pointer, "additionalProperties")
            )
        return self.writer.value(
            shortest_conjunction(*schemas), pointer_below(self.pointer, "properties", name)
        )

    def others(self, known_names: list[str]) -> Others | None:
        """Return the members that are not known, or None if there may be none."""
        if self.patterns:
            return self._by_pattern(known_names)
        if self.writer.tokens.rules.names_alone and known_names and not self.is_said:
            return None
        value = self.writer.value(
            self.additional, pointer_below(self.pointer, "additionalProperties")
        )
        if value is None:
            return None
        tokens = self.writer.tokens
        if self.listed():
            return None
        if self.names is True:
            return Others(other_name(known_names, tokens.style.quoting, tokens.rules), value)
        if any(self._is_name(name) for name in known_names):
            raise unwritable_keyword(
                "propertyNames", self.pointer, "known members would have to be left out of it"
            )
        name = self.writer.value(shortest_conjunction({"type": "string"}, self.names), self.pointer)
        return None if name is None else Others(name, value)

    def _by_pattern(self, known_names: list[str]) -> Others | None:
        why = None
        if len(self.patterns) > 1:
            why = "one name may match several patterns"
        elif self.names is not True:
            why = "propertyNames speaks of the same names"
        elif any(self._matches(name, next(iter(self.patterns))) for name in known_names):
            why = "known members match it too"
        elif self.writer.resolver.flat(self.additional):
            why = "members that do not match it are allowed; set additionalProperties to false"
        if why is not None:
            raise unwritable_keyword("patternProperties", self.pointer, why)
        ((source, schema),) = self.patterns.items()
        place = pointer_below(self.pointer, "patternProperties")
        tokens = self.writer.tokens
        name = string_expression(
            {"pattern": source}, place, tokens.style.quoting, tokens.rules, wish="name"
        )
        value = self.writer.value(schema, pointer_below(place, source))
        return None if name is None or value is None else Others(name, value)

    def _is_name(self, name: str) -> bool:
        flat = self.writer.resolver.flat
        return any(meets_schema(name, option, flat) for option in flat(self.names))

    def _matches(self, name: str, source: str) -> bool:
        return meets_schema(name, {"pattern": source}, self.writer.resolver.flat)


def schema_rules(schema: Json, rules: GbnfRules, style: JsonStyle) -> str:
    """Add rules for the JSON values of a schema to a table; return the expression of one value.

    The expression is a rule's name or a literal. Raises SchemaError for a schema that is malformed,
    that no value meets, or that says what a grammar cannot; the rules that were added before are
    then of no use.
    """
    document = SchemaDocument.of(schema)
    survey_schema(document)
    root = document.root
    expression = Converter(document, JsonTokens(rules, style)).value(root, ROOT)
    if expression is None:
        place = place_of(root, ROOT) if isinstance(root, dict) else ROOT
        raise SchemaError("no value meets this schema", pointer=place)
    return expression


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
def _may_be_met(schema_text: str) -> bool:
    document = SchemaDocument.of(json.loads(schema_text))
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
    return Converter(document, JsonTokens(GbnfRules())).value(document.root, ROOT) is not None


# Whether one text is in a format: for constants, whether the format is regular or not.


def _format_check(name: str) -> Callable[[str], bool]:
    """Make the check of a format that is held as a pattern."""

    def check(text: str) -> bool:
        regexes = string_shape({"format": name}, ROOT).patterns
        return all(re.fullmatch(python_text(regex), text) for regex in regexes)

    return check


_is_hostname = _format_check("hostname")


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
    **{name: _format_check(name) for name in PATTERNS},
    "regex": _is_regex,
    "idn-email": _is_international_email,
    "idn-hostname": _is_international_host,
}
"""The check of every format of the standard, by its name."""
