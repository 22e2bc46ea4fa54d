"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from autoparser.analysis.errors import TokenizerError

from .encoder import load_encoder
from .fetch import Fetched, fetch
from .load import load_template, load_templates
from .tokenizer import load_tokenizer, read_tokenizer, tokenizer_beside

__all__ = [
    "Fetched",
    "TokenizerError",
    "fetch",
    "load_encoder",
    "load_template",
    "load_templates",
    "load_tokenizer",
    "read_tokenizer",
    "tokenizer_beside",
]
