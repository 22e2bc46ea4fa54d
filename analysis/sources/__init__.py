"""Where chat templates come from: files, model directories, standard input."""

from .load import load_template

__all__ = ["load_template"]
