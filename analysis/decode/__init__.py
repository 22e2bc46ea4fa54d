"""Masked decoding as a check: answers written under a grammar, each of them judged."""

from .faults import Complaint, Fault, Judgement, Rendering
from .judge import Judge
from .run import Answer, Decoding, Example, Report, judged, random_answers
from .vocabulary import closing_texts, made_tokenizer, missing_markers

__all__ = [
    "Answer",
    "Complaint",
    "Decoding",
    "Example",
    "Fault",
    "Judge",
    "Judgement",
    "Rendering",
    "Report",
    "closing_texts",
    "judged",
    "made_tokenizer",
    "missing_markers",
    "random_answers",
]
