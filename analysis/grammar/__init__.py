"""Grammars for constrained decoding: what a format and a request let a model write."""

from .calls import GrammarError
from .grammar import Grammar
from .requests import grammar_of
from .schema import SchemaError

__all__ = [
    "Grammar",
    "GrammarError",
    "SchemaError",
    "grammar_of",
]
