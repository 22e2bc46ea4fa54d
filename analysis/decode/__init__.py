"""Masked decoding as a check: answers written under a grammar, each of them judged."""

from .faults import Complaint, Fault, Judgement, Rendering
from .judge import Judge
from .run import Answer, Example, Report, judged
from .trial import DecodingTrial
from .vocabulary import MarkerFit, made_tokenizer

__all__ = [
    "Answer",
    "Complaint",
    "DecodingTrial",
    "Example",
    "Fault",
    "Judge",
    "Judgement",
    "MarkerFit",
    "Rendering",
    "Report",
    "judged",
    "made_tokenizer",
]
