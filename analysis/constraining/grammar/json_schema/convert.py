"""A schema's values as GBNF rules."""

from __future__ import annotations

import json

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import Document, Schema, SchemaError, schemas_of

from .any_value import any_array, any_object, any_value
from .arrays import items_of
from .characters import Quoting
from .finite_values import Ending
from .flat import ARRAY, NUMBER, OBJECT
from .gbnf_rules import literal
from .json_tokens import Tokens
from .membership import holds
from .naming import wish_for
from .numbers import number_expression
from .object_schema import members_of
from .schema_options import Option, Resolver
from .schema_survey import TYPES
from .string_schemas import string_expression

DEEPEST = 60
"""Levels of values inside values, recursion apart."""


class Converter:
    """Writes the schemas of one document into a table of rules."""

    def __init__(self, document: Document, tokens: Tokens, *, sort_keys: bool = False) -> None:
        self.tokens = tokens
        self.rules = tokens.rules
        self.sort_keys = sort_keys
        self.root = document.root
        self.resolver = Resolver(document)
        self.ending = Ending(self.resolver)
        self._written: dict[tuple[Quoting, str], str | None] = {}
        self._open: dict[tuple[Quoting, str], str | None] = {}
        """What is being written, with the name of its rule where it refers to itself."""

    def value(self, schema: Json, pointer: str, quoting: Quoting | None = None) -> str | None:
        """Return the expression of a schema's values; None where it has none.

        `quoting`: of strings that are the value itself; those inside are written as JSON.
        """
        quoting = quoting or self.tokens.quoting
        found = [self._option(option, quoting) for option in self.resolver.options(schema, pointer)]
        written = list(dict.fromkeys(option for option in found if option is not None))
        if not written:
            return None
        return written[0] if len(written) == 1 else self._named(pointer, written)

    def _named(self, pointer: str, options: list[str]) -> str:
        return self.rules.add(wish_for(pointer), " | ".join(dict.fromkeys(options)))

    def _option(self, option: Option, quoting: Quoting) -> str | None:
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

    def _flat(self, option: Option, quoting: Quoting) -> str | None:
        schema, pointer = option.schema, option.pointer
        if "enum" in schema:
            values = [
                value
                for value in schemas_of(schema, "enum")
                if holds(value, schema, self.resolver.flat)
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

    def _typed(self, kind: str, schema: Schema, pointer: str, quoting: Quoting) -> str | None:
        wish = wish_for(pointer)
        match kind:
            case "null":
                return literal("null")
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

    def constant(self, value: Json, quoting: Quoting) -> str:
        """Return the expression of one value."""
        tokens = self.tokens
        inner = tokens.quoting
        match value:
            case str():
                return literal(f"{quoting.quote}{quoting.text(value)}{quoting.quote}")
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
                return literal(json.dumps(value))
