"""Tokenizers: the one home of loading them, and of all that is asked of one.

Nothing here loads the tokenizers library, llguidance or the Hub before it is needed.
"""

from autoparser.analysis.core.errors import TokenizerError

from .byte_level import byte_tokenizer
from .from_gguf import tokenizer_of_gguf
from .index import TokenIndex
from .marker import Marker
from .special_cuts import OpaqueTokens
from .token_text import Encoded, FastTokenizer, TokenText
from .tokenizer import AddedToken, Eos, ModelTokenizer
from .tokenizer_loading import (
    TOKENIZER_FILE,
    load_tokenizer,
    read_tokenizer,
    tokenizer_beside,
    tokenizer_file,
    tokenizer_files,
)
from .tokenizer_source import tokenizer_of

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
    "tokenizer_file",
    "tokenizer_files",
    "tokenizer_of",
    "tokenizer_of_gguf",
]
