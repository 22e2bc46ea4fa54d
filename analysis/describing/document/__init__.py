"""An analysis as a JSON document with a versioned schema."""

from .evidence import check_counts
from .source import source_document, template_document
from .switches import effects_of, effects_of_text, prompt_under
from .whole import SCHEMA, document

__all__ = [
    "SCHEMA",
    "check_counts",
    "document",
    "effects_of",
    "effects_of_text",
    "prompt_under",
    "source_document",
    "template_document",
]
