"""Tokenizers from what models ship: `tokenizer.json`, tiktoken's ranks, a GGUF header."""

from .byte_level import byte_level_tokenizer
from .from_gguf import tokenizer_of_gguf
from .tiktoken import is_tiktoken, read_tiktoken
from .tokenizer_json import read_tokenizer_json

__all__ = [
    "byte_level_tokenizer",
    "is_tiktoken",
    "read_tiktoken",
    "read_tokenizer_json",
    "tokenizer_of_gguf",
]
