"""An analysis as a JSON document with a versioned schema."""

from .evidence import CheckCounts, check_counts
from .source import TemplateDocument, named_template, source_document, template_document
from .switches import effects_of, effects_of_text, prompt_under
from .whole import SCHEMA, AnalysisDocument, document

__all__ = [
    "SCHEMA",
    "AnalysisDocument",
    "CheckCounts",
    "TemplateDocument",
    "check_counts",
    "document",
    "effects_of",
    "effects_of_text",
    "named_template",
    "prompt_under",
    "source_document",
    "template_document",
]
