"""Small edits of a template's text, found by its syntax; what they are good for, renders say."""

from .simplifications import default_edit, template_edits
from .template_edit import TemplateEdit, edited, in_newlines

__all__ = ["TemplateEdit", "default_edit", "edited", "in_newlines", "template_edits"]
