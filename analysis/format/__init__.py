"""The format of an assistant turn, as frozen values that can write it."""

from .call import ArgumentForm, Arguments, CallFormat, Limit
from .joint import Joint, joints_of
from .notation import (
    Container,
    JsonType,
    Notation,
    Order,
    Row,
    Slot,
    json_notation,
    python_notation,
    type_of,
)
from .text import Edges, Escape, Guard, Strip, Text
from .turn import (
    End,
    Layout,
    Opening,
    Part,
    ReasoningRetention,
    RefusedMessageError,
    TurnFormat,
    Written,
)

__all__ = [
    "ArgumentForm",
    "Arguments",
    "CallFormat",
    "Container",
    "Edges",
    "End",
    "Escape",
    "Guard",
    "Joint",
    "JsonType",
    "Layout",
    "Limit",
    "Notation",
    "Opening",
    "Order",
    "Part",
    "ReasoningRetention",
    "RefusedMessageError",
    "Row",
    "Slot",
    "Strip",
    "Text",
    "TurnFormat",
    "Written",
    "joints_of",
    "json_notation",
    "python_notation",
    "type_of",
]
