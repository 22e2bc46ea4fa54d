"""Tokenizers: the one home of loading them, and of all that is asked of one.

Nothing here loads the tokenizers library, llguidance or the Hub before it is needed.
"""

from autoparser.analysis.core.errors import TokenizerError

from .byte_level import byte_tokenizer
from .cut import OpaqueTokens
from .from_gguf import tokenizer_of_gguf
from .index import TokenIndex
from .loading import (
    TOKENIZER_FILE,
    load_tokenizer,
    read_tokenizer,
    tokenizer_beside,
    tokenizer_files,
)
from .marker import Marker
from .source import tokenizer_of
from .text import Encoded, FastTokenizer, TokenText
from .tokenizer import AddedToken, Eos, ModelTokenizer

__all__ = [
    "TOKENIZER_FILE",
    "AddedToken",
    "Encoded",
    "Eos",
    "FastTokenizer",
    "Marker",
    "ModelTokenizer",
    "OpaqueTokens",
    "TokenIndex",
    "TokenText",
    "TokenizerError",
    "byte_tokenizer",
    "load_tokenizer",
    "read_tokenizer",
    "tokenizer_beside",
    "tokenizer_files",
    "tokenizer_of",
    "tokenizer_of_gguf",
]
