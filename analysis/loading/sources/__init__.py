"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from .file_kinds import kind_of
from .load import load_template, load_templates

__all__ = ["kind_of", "load_template", "load_templates"]
