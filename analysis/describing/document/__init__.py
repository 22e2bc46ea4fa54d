"""An analysis as a JSON document with a versioned schema."""

from autoparser.analysis.describing.template_document import (
    TemplateDocument,
    named_template,
)
from autoparser.analysis.describing.verdict_document import CheckCounts, check_counts

from .switch_document import effects_of, effects_of_text, prompt_under
from .whole import SCHEMA, AnalysisDocument, described, digest_of, document

__all__ = [
    "SCHEMA",
    "AnalysisDocument",
    "CheckCounts",
    "TemplateDocument",
    "check_counts",
    "described",
    "digest_of",
    "document",
    "effects_of",
    "effects_of_text",
    "named_template",
    "prompt_under",
]
