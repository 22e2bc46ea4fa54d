"""What was learnt of a template: at work without renders, and as a file."""

from .format_file import SCHEMA, FormatFile, SavedTemplateDocument, file_text, is_format_file
from .learnt_format import LearntFormat
from .saved_format import SavedFormat, load_format

__all__ = [
    "SCHEMA",
    "FormatFile",
    "LearntFormat",
    "SavedFormat",
    "SavedTemplateDocument",
    "file_text",
    "is_format_file",
    "load_format",
]
