"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from .file_kinds import kind_of
from .held_template import (
    HoldsTemplate,
    TemplateGiven,
    held_special_tokens,
    is_template_text,
    template_of,
)
from .load import load_template, load_templates

__all__ = [
    "HoldsTemplate",
    "TemplateGiven",
    "held_special_tokens",
    "is_template_text",
    "kind_of",
    "load_template",
    "load_templates",
    "template_of",
]
