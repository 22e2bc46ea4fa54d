"""The parsers of installed engines, tried on a template's own turns."""

from .asked_texts import AskedText, AskedTexts, asked_texts
from .engine_process import (
    ENGINES,
    EngineError,
    EngineParsers,
    EngineProcess,
    ParserError,
    ParserPair,
    engines_of,
)
from .engine_ranking import EngineRanking, ParserPart, UnusableParser, rank_parsers
from .engines_tried import EnginesTried, try_engines
from .parser_score import DeliveryScore, PairScore, ParserFailure, TextDelivery

__all__ = [
    "ENGINES",
    "AskedText",
    "AskedTexts",
    "DeliveryScore",
    "EngineError",
    "EngineParsers",
    "EngineProcess",
    "EngineRanking",
    "EnginesTried",
    "PairScore",
    "ParserError",
    "ParserFailure",
    "ParserPair",
    "ParserPart",
    "TextDelivery",
    "UnusableParser",
    "asked_texts",
    "engines_of",
    "rank_parsers",
    "try_engines",
]
