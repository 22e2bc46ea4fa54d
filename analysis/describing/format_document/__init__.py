"""The format of a turn as JSON, and read back from it."""

from .reading import format_read
from .turns import FormatDocument, TurnDocument, format_document, turn_document

__all__ = ["FormatDocument", "TurnDocument", "format_document", "format_read", "turn_document"]
