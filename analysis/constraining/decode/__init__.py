"""Masked decoding as a check: answers written under a grammar, each of them judged."""

from .faults import Complaint, Fault, Judgement, Rendering
from .judge import Judge
from .model import LoadedModel, ModelError, ModelFigures, ModelWriter, load_model
from .run import Answer, Example, JudgedAnswer, Report, judged
from .server import Engine, Server, ServerError, grammar_fields, server_answers
from .trial import DecodingTrial
from .vocabulary import MarkerFit, made_tokenizer

__all__ = [
    "Answer",
    "Complaint",
    "DecodingTrial",
    "Engine",
    "Example",
    "Fault",
    "Judge",
    "JudgedAnswer",
    "Judgement",
    "LoadedModel",
    "MarkerFit",
    "ModelError",
    "ModelFigures",
    "ModelWriter",
    "Rendering",
    "Report",
    "Server",
    "ServerError",
    "grammar_fields",
    "judged",
    "load_model",
    "made_tokenizer",
    "server_answers",
]
