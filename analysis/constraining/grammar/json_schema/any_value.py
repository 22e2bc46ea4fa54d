"""Any JSON value: the rule that every open schema comes to, once in a grammar."""

from __future__ import annotations

from .anchoring import ANY_TEXT
from .arrays import Items
from .decimals import number_range
from .interval import Interval
from .json_tokens import Tokens
from .objects import ObjectMembers, Others
from .regex_writer import RegexWriter


def any_value(tokens: Tokens) -> str:
    """Return the rule of any value."""
    key = ("value", tokens.item_separator, tokens.key_separator, tokens.quoting, tokens.indent)
    return tokens.rules.recursive(key, "value", lambda name: _body(tokens, name))


def any_string(tokens: Tokens) -> str:
    """Return the rule of any string."""
    text = RegexWriter(tokens.rules, tokens.quoting).write(ANY_TEXT)
    return tokens.rules.add("string", f'"\\"" {text} "\\""')


def any_object(tokens: Tokens) -> str:
    """Return the rule of any object."""
    members = ObjectMembers((), Others(any_string(tokens), any_value(tokens)), 0, None, "#")
    return tokens.rules.add("object", members.expression(tokens) or "")


def any_array(tokens: Tokens) -> str:
    """Return the rule of any array."""
    items = Items((), any_value(tokens), 0, None)
    return tokens.rules.add("array", items.expression(tokens) or "")


def _body(tokens: Tokens, _name: str) -> str:
    rules = tokens.rules
    scalars = [
        any_string(tokens),
        rules.add("number", number_range(Interval(), rules) or ""),
        rules.add("boolean", '"true" | "false"'),
        '"null"',
    ]
    return " | ".join([any_object(tokens), any_array(tokens), *scalars])
