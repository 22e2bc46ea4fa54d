r"""Write a schema's values as GBNF rules.

    schema -> SchemaDocument -> Converter.value, by Resolver.options -> rules, an expression

`schema_rules` writes values as JSON, of objects first what `read_members` reads. Names of rules
come from the schema's own names (`wish_for`):

    >>> city = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rio"]}}}
    >>> rules = GbnfRules()
    >>> schema = {**city, "required": ["city"], "additionalProperties": False}
    >>> name = schema_rules(schema, rules, JsonStyle())
    >>> print(dict(rules)[name], dict(rules)["city"], sep="\n")
    begin-object "\"city\"" colon city end-object
    "\"Oslo\"" | "\"Rio\""
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_document import ROOT, SchemaDocument, schema_place
from autoparser.analysis.core.schema_errors import (
    SchemaError,
    UnheldKeywordError,
    pointer_below,
    raise_refused,
)
from autoparser.analysis.core.schema_keywords import Schema, keyword_count, keyword_schemas
from autoparser.analysis.parsing.turn_request import IdentityCache

from .gbnf_numbers import number_expression
from .gbnf_rules import GbnfRules, JsonTokens, RuleStep, gbnf_literal
from .gbnf_values import (
    Member,
    ObjectMembers,
    Others,
    any_array,
    any_object,
    any_value,
    ensure_short,
    other_name,
    read_items,
    string_expression,
)
from .grammar_rules import JsonStyle
from .schema_options import ARRAY, NUMBER, OBJECT, Option, Resolver, meets_schema
from .schema_satisfiability import DEEPEST, NamedMembers, Satisfiability
from .schema_survey import TYPES, survey_schema, unwritable_keyword

# Names of the rules for the schemas of a document.


def wish_for(pointer: str) -> str:
    """Return the preferred name of the rule for the schema at a pointer, from its author's names.

    ``#/properties/city`` is ``city``, its items ``city-item``, the root ``json``.
    """
    named, item = "json", False
    tokens = pointer.split("/")[1:]
    for at, token in enumerate(tokens):
        # The last name on the way counts: `#/properties/trip/properties/city` is `city`.
        if at and tokens[at - 1] in _NAMED:
            named, item = token, False
        elif token in _ITEMS:
            item = True
    return f"{named}-item" if item else named


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_ITEMS = frozenset({"items", "prefixItems", "additionalItems", "additionalProperties"})


class Converter:
    """Writes the schemas of one document into a table of rules."""

    def __init__(self, document: SchemaDocument, tokens: JsonTokens) -> None:
        self.tokens = tokens
        self.rules = tokens.rules
        self.resolver = Resolver(document)
        self._satisfiability = Satisfiability(
            self.resolver, partial(ensure_short, rules=self.rules)
        )
        self._expressions: dict[str, str | None] = {}
        self.refused: list[tuple[str, SchemaError]] = []
        """The keywords that cannot be written: the schemas beside them are still looked at."""
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
        """Return the expression of one alternative, written once; a recursive one gets a rule.

        A keyword that cannot be written is noted, and the rest is still searched for other errors.
        """
        if not option.schema:
            return any_value(self.tokens)
        key = json.dumps(option.schema)
        if key in self._expressions:
            return self._expressions[key]
        # It contains itself: only then it needs a rule's name before it is written.
        if key in self._open:
            self._open[key] = self._open[key] or self.rules.reserve(wish_for(option.pointer))
            return self._open[key]
        if self._satisfiability.is_certain(option):
            return None
        if len(self._open) > DEEPEST:
            raise SchemaError(f"more than {DEEPEST} levels deep", pointer=option.pointer)
        self._open[key] = None
        try:
            written = self._flat(option)
        except UnheldKeywordError as error:
            # The grammar will be refused, so the text does not matter: only further errors do.
            self.refused.append(("", error))
            self._open.pop(key)
            return '""'
        name = self._open.pop(key)
        if name is not None and written is not None:
            written = self.rules.settle(name, written)
        self._expressions[key] = written
        return written

    def _flat(self, option: Option) -> str | None:
        """Write a schema without references or unions: its constants, or each type."""
        schema, pointer = option.schema, option.pointer
        if "enum" in schema:
            # All values are from the enum: checking that again would take quadratic time.
            others = {keyword: held for keyword, held in schema.items() if keyword != "enum"}
            values = [
                value
                for value in keyword_schemas(schema, "enum")
                if meets_schema(value, others, self.resolver.flat)
            ]
            constants = [self.constant(value) for value in values]
            if not constants:
                return None
            return constants[0] if len(constants) == 1 else self._options_rule(pointer, constants)
        kinds = [*map(str, keyword_schemas(schema, "type") or TYPES)]
        # Every integer is a number.
        if "number" in kinds:
            kinds = [kind for kind in kinds if kind != "integer"]
        found = [self._typed(kind, schema, pointer) for kind in kinds]
        written = [expression for expression in found if expression is not None]
        if not written:
            return None
        return written[0] if len(written) == 1 else self._options_rule(pointer, written)

    def _typed(self, kind: str, schema: Schema, pointer: str) -> str | None:
        """Write the values of one type, or return None if none is valid."""
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
                items = read_items(schema, pointer, self.value)
                return self._rule(wish, items.expression(self.tokens))
            case "object":
                if not any(keyword in schema for keyword in OBJECT):
                    return any_object(self.tokens)
                members = read_members(schema, pointer, self)
                written = None if members is None else members.expression(self.tokens)
                return self._rule(wish, written)
            case _:
                numbers = number_expression(schema, pointer, self.rules, whole=kind == "integer")
                if numbers is None:
                    return None
                free = not any(keyword in schema for keyword in NUMBER)
                # All integers without bounds share the rule `integer`.
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


def read_members(schema: Schema, pointer: str, writer: Converter) -> ObjectMembers | None:
    """Read the members; return None if a required one can have no value or name.

    Raises SchemaError if a name's schema would depend on a pattern in ways that cannot be
    written.
    """
    reading = _MembersWriter(schema, pointer, writer)
    named = reading.members
    known = [
        Member(name, writer.value(*named.member_schema(name)), name in named.required)
        for name in named.known
    ]
    if any(member.required and member.value is None for member in known):
        return None
    least, most = (
        keyword_count(schema, "minProperties") or 0,
        keyword_count(schema, "maxProperties"),
    )
    return ObjectMembers(known, reading.others(), least, most, pointer)


class _MembersWriter:
    """Writes the values and the names of an object's members."""

    def __init__(self, schema: Schema, pointer: str, writer: Converter) -> None:
        self.members = NamedMembers(schema, pointer, writer.resolver)
        self.is_said = not {"additionalProperties", "propertyNames"}.isdisjoint(schema)
        """Whether the schema constrains names that it does not list."""
        self.writer = writer

    def others(self) -> Others | None:
        """Return the members that are not known, or None if there may be none."""
        members, tokens = self.members, self.writer.tokens
        known, pointer = members.known, members.pointer
        if members.patterns:
            return self._by_pattern()
        if tokens.rules.names_alone and known and not self.is_said:
            return None
        value = self.writer.value(*members.other_place)
        if value is None or members.listed:
            return None
        if members.names is True:
            return Others(other_name(known, tokens.style.quoting, tokens.rules), value)
        if any(map(members.is_name, known)):
            raise unwritable_keyword(
                "propertyNames", pointer, "known members would have to be excluded"
            )
        name = self.writer.value(members.name_schema, pointer)
        return None if name is None else Others(name, value)

    def _by_pattern(self) -> Others | None:
        """Return the members that a single pattern names. Raises if others may match it."""
        members = self.members
        (source, schema), *more = members.patterns.items()
        why = None
        if more:
            why = "one name may match several patterns"
        elif members.names is not True:
            why = "propertyNames constrains the same names"
        elif any(members.matches(name, source) for name in members.known):
            why = "known members match it too"
        elif self.writer.resolver.flat(members.additional):
            why = "members that do not match it are allowed; set additionalProperties to false"
        if why is not None:
            raise unwritable_keyword("patternProperties", members.pointer, why)
        place = pointer_below(members.pointer, "patternProperties")
        tokens = self.writer.tokens
        name = string_expression(
            {"pattern": source}, place, tokens.style.quoting, tokens.rules, wish="name"
        )
        value = self.writer.value(schema, pointer_below(place, source))
        return None if name is None or value is None else Others(name, value)


class _Conversion(Struct, frozen=True):
    """The rules of a schema, to be made in any table of one kind."""

    steps: Sequence[RuleStep]
    """The changes that make the rules, e.g. one that adds "integer"."""
    expression: str
    """The expression of one value, in the names of the steps, e.g. "integer"."""


_CONVERSIONS: IdentityCache[_Conversion] = IdentityCache(2048)
"""Cached conversions: most tools of a new list were seen in others."""


def schema_rules(schema: Json, rules: GbnfRules, style: JsonStyle) -> str:
    """Add rules for the JSON values of a schema to a table; return the expression of one value.

    The expression is a rule's name or a literal. Raises SchemaError for a schema that is malformed,
    that no value meets, or that says what a grammar cannot.
    """
    known = _CONVERSIONS.of(
        (),
        # By its text: the same schema is another object in each request.
        (type(rules), rules.longest_count, style, repr(schema)),
        lambda: _conversion(schema, rules.recorder(), style),
    )
    names: dict[str, str] = {}
    rules.replay(known.steps, names)
    # The expression may be a rule, which the table may have given another name.
    return names.get(known.expression, known.expression)


def _conversion(schema: Json, rules: GbnfRules, style: JsonStyle) -> _Conversion:
    """Convert a schema in a table of its own, which records its steps."""
    document = SchemaDocument.of(schema)
    survey_schema(document)
    root = document.root
    converter = Converter(document, JsonTokens(rules, style))
    expression = converter.value(root, ROOT)
    raise_refused(converter.refused)
    if expression is None:
        place = schema_place(root, ROOT) if isinstance(root, dict) else ROOT
        raise SchemaError("no value satisfies this schema", pointer=place)
    return _Conversion(tuple(rules.steps or ()), expression)
