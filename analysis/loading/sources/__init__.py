"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from .load import load_template, load_templates

__all__ = ["load_template", "load_templates"]
