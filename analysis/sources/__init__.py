"""Where chat templates come from: files, model directories, standard input."""

from .load import load_template, load_templates
from .tokenizer import TokenizerError, load_tokenizer, tokenizer_beside

__all__ = [
    "TokenizerError",
    "load_template",
    "load_templates",
    "load_tokenizer",
    "tokenizer_beside",
]
