"""Strings: of any text, of some length, with a pattern, in a format."""

from __future__ import annotations

from autoparser.analysis.core.schema import Schema

from .anchoring import ANY_TEXT
from .characters import Quoting
from .gbnf_rules import GbnfRules, literal
from .regex_nodes import Regex
from .regex_writer import RegexWriter
from .string_shape import string_shape


def string_expression(
    schema: Schema, pointer: str, quoting: Quoting, rules: GbnfRules, *, wish: str = "string"
) -> str | None:
    """Return the rule of a schema's strings, with their quotes; None where there are none.

    Raises SchemaError for a pattern that is none, that is not regular, or that is longer or
    shorter than the schema's lengths in a way that cannot be written.
    """
    regex = string_regex(schema, pointer)
    if regex is None:
        return None
    body = RegexWriter(rules, quoting).write(regex)
    if quoting.quote:
        body = f"{literal(quoting.quote)} {body} {literal(quoting.quote)}"
    return rules.add("string" if regex == ANY_TEXT else wish, body)


def string_regex(schema: Schema, pointer: str) -> Regex | None:
    """Return what a schema says of the text of its strings; None where none can be."""
    return string_shape(schema, pointer).single()
