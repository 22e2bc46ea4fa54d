"""Grammars for constrained decoding: what a format and a request let a model write."""

from autoparser.analysis.core.schema import SchemaError

from .acceptance import Acceptance, GrammarDialect
from .call_writer import GrammarError
from .grammar import Grammar
from .loosening import GrammarForm, Loosening, StrictSchemaError, log_loosening
from .requested_grammar import format_slices, grammar_of

__all__ = [
    "Acceptance",
    "Grammar",
    "GrammarDialect",
    "GrammarError",
    "GrammarForm",
    "Loosening",
    "SchemaError",
    "StrictSchemaError",
    "format_slices",
    "grammar_of",
    "log_loosening",
]
