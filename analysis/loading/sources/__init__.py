"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from .file_kinds import kind_of
from .files import read_bounded
from .load import load_template, load_templates

__all__ = ["kind_of", "load_template", "load_templates", "read_bounded"]
