"""Where chat templates come from: files, model directories, standard input."""

from .load import load_template
from .tokenizer import TokenizerError, load_tokenizer, tokenizer_beside

__all__ = ["TokenizerError", "load_template", "load_tokenizer", "tokenizer_beside"]
