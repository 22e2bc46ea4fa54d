"""What was learnt of a template: at work without renders, and as a file."""

from .format_file import SCHEMA, FormatFile, SavedTemplateDocument, file_text
from .format_template import template_of_format
from .learnt_format import LearntFormat, LearntFrom, PhaseConclusion
from .saved_format import SavedFormat, is_saved_format, load_format

__all__ = [
    "SCHEMA",
    "FormatFile",
    "LearntFormat",
    "LearntFrom",
    "PhaseConclusion",
    "SavedFormat",
    "SavedTemplateDocument",
    "file_text",
    "is_saved_format",
    "load_format",
    "template_of_format",
]
