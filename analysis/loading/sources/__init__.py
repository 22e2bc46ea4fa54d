"""Where chat templates come from: files, directories, standard input, GGUF files, the Hub."""

from .file_kinds import MISNAMED, kind_of, special_kind
from .held_template import (
    HoldsTemplate,
    TemplateGiven,
    held_special_tokens,
    is_template_text,
    template_of,
)
from .load import load_template, load_templates

__all__ = [
    "MISNAMED",
    "HoldsTemplate",
    "TemplateGiven",
    "held_special_tokens",
    "is_template_text",
    "kind_of",
    "load_template",
    "load_templates",
    "special_kind",
    "template_of",
]
