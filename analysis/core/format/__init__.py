"""The format of an assistant turn, as frozen values that can write it."""

from typing import TYPE_CHECKING

from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.schema import JsonType, type_of
from autoparser.lazy_names import lazy_names

from .call import ArgumentForm, Arguments, CallFormat, CallLimit, FreeWord
from .formats import Begun, Formats, ending, share, written_alike
from .json_call import JsonFields
from .layout import Layout, Part
from .literal import Block, Literal, spaced_spellings
from .naming_ids import NamingId
from .notation import (
    Container,
    Notation,
    Order,
    Row,
    Slot,
    json_notation,
    python_notation,
)
from .shape import End, Opening, ReasoningRetention, Written
from .text import ESCAPES_BY_RULE, Edges, Escape, StringGuard, Strip, Text, from_python
from .turn import RefusedMessageError, TurnFormat

if TYPE_CHECKING:
    from .joint import Joint, joints_of
    from .media_slots import (
        ContentParts,
        MediaPlace,
        MediaSlot,
        MediaTreatment,
        PartsOutcome,
        Placeholder,
        best_outcome,
    )

__all__ = [
    "ESCAPES_BY_RULE",
    "ArgumentForm",
    "Arguments",
    "Begun",
    "Block",
    "CallFormat",
    "CallLimit",
    "Container",
    "ContentParts",
    "Edges",
    "End",
    "Escape",
    "EvidenceKind",
    "Formats",
    "FreeWord",
    "Joint",
    "JsonFields",
    "JsonType",
    "Layout",
    "Literal",
    "MediaPlace",
    "MediaSlot",
    "MediaTreatment",
    "NamingId",
    "Notation",
    "Opening",
    "Order",
    "Part",
    "PartsOutcome",
    "Placeholder",
    "ReasoningRetention",
    "RefusedMessageError",
    "Row",
    "Slot",
    "StringGuard",
    "Strip",
    "Text",
    "TurnFormat",
    "Written",
    "best_outcome",
    "ending",
    "from_python",
    "joints_of",
    "json_notation",
    "python_notation",
    "share",
    "spaced_spellings",
    "type_of",
    "written_alike",
]

_HOMES = {
    "joint": ("Joint", "joints_of"),
    "media_slots": (
        "ContentParts",
        "MediaPlace",
        "MediaSlot",
        "MediaTreatment",
        "PartsOutcome",
        "Placeholder",
        "best_outcome",
    ),
}
"""No turn is written or read by these: they are imported when they are asked for."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
