"""What answers at an address: which engine, which template, and what its parser makes of texts.

A server is judged by the template: its prompts by the template's own renders, its readings by
messages that the template has written. Nothing that this package reads or writes itself decides.
"""

from .client_message import Likeness, PartDifference, ReadPart
from .engine_server import EngineServer, Rung, ServedModel
from .identify import server_at
from .known_prompts import ComparedPrompt
from .known_text import KnownText, ProbedChat
from .known_texts import known_texts
from .parser_ranking import ParserRanking, ParserScore
from .probe_advice import AdviceKind, ProbeAdvice, probe_advice
from .probe_client import ProbeClient, ProbeError, checked_address
from .probed_text import NotAsked, ProbedText, ReadVerdict
from .server_probe import ServerProbe, probe_server

__all__ = [
    "AdviceKind",
    "ComparedPrompt",
    "EngineServer",
    "KnownText",
    "Likeness",
    "NotAsked",
    "ParserRanking",
    "ParserScore",
    "PartDifference",
    "ProbeAdvice",
    "ProbeClient",
    "ProbeError",
    "ProbedChat",
    "ProbedText",
    "ReadPart",
    "ReadVerdict",
    "Rung",
    "ServedModel",
    "ServerProbe",
    "checked_address",
    "known_texts",
    "probe_advice",
    "probe_server",
    "server_at",
]
