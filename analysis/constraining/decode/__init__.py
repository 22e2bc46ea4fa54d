"""Masked decoding as a check: answers written under a grammar, each of them judged."""

from .answer_faults import Complaint, Fault, Judgement, Rendering
from .answers import AnswerExample, DecodedAnswer, DecodingReport, JudgedAnswer, judged
from .decoding_trial import DecodingTrial
from .judge import Judge
from .model_writer import LoadedModel, ModelError, ModelFigures, ModelWriter, load_model
from .rendering import NoTurns
from .server import (
    Server,
    ServerEngine,
    ServerError,
    grammar_fields,
    marker_fields,
    server_answers,
)
from .vocabulary import MarkerFit, made_tokenizer

__all__ = [
    "AnswerExample",
    "Complaint",
    "DecodedAnswer",
    "DecodingReport",
    "DecodingTrial",
    "Fault",
    "Judge",
    "JudgedAnswer",
    "Judgement",
    "LoadedModel",
    "MarkerFit",
    "ModelError",
    "ModelFigures",
    "ModelWriter",
    "NoTurns",
    "Rendering",
    "Server",
    "ServerEngine",
    "ServerError",
    "grammar_fields",
    "judged",
    "load_model",
    "made_tokenizer",
    "marker_fields",
    "server_answers",
]
