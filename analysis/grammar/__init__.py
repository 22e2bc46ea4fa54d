"""Grammars for constrained decoding: what a format and a request let a model write."""

from .calls import GrammarError
from .grammar import Grammar
from .schema import SchemaError
from .tokenizer import Vocabulary, guidance_tokenizer, vocabulary_of

__all__ = [
    "Grammar",
    "GrammarError",
    "SchemaError",
    "Vocabulary",
    "guidance_tokenizer",
    "vocabulary_of",
]
