"""A format in the words of other programs, and what those cannot express."""

from .export_limits import Export, ExportLimit, MessagePiece
from .export_trial import (
    ComparedMessage,
    ExportTrial,
    Mismatch,
    Parse,
    transformers_parser,
    try_out,
)
from .response_template import response_template
from .template_dialect import TemplateDialect

__all__ = [
    "ComparedMessage",
    "Export",
    "ExportLimit",
    "ExportTrial",
    "MessagePiece",
    "Mismatch",
    "Parse",
    "TemplateDialect",
    "response_template",
    "transformers_parser",
    "try_out",
]
