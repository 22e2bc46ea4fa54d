"""Grammars for constrained decoding: what a format and a request let a model write."""

from autoparser.analysis.schema import SchemaError

from .calls import GrammarError
from .grammar import Grammar
from .requests import grammar_of
from .tokenizer import Vocabulary, guidance_tokenizer, vocabulary_of

__all__ = [
    "Grammar",
    "GrammarError",
    "SchemaError",
    "Vocabulary",
    "grammar_of",
    "guidance_tokenizer",
    "vocabulary_of",
]
