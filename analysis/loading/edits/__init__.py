"""Small edits of a template's text, found by its syntax; what they are good for, renders say."""

from .additions import adding_edits, also_compared, asking_also, jinja_text, replaced_value
from .simplifications import default_edit, template_edits
from .template_edit import TemplateEdit, edited, in_newlines

__all__ = [
    "TemplateEdit",
    "adding_edits",
    "also_compared",
    "asking_also",
    "default_edit",
    "edited",
    "in_newlines",
    "jinja_text",
    "replaced_value",
    "template_edits",
]
