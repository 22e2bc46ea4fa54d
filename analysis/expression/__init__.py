"""The expression of a turn: what a model may write, for one request."""

from .build import build
from .nodes import (
    ArgumentList,
    Block,
    JsonCall,
    Literal,
    Name,
    RowCall,
    RowItem,
    Section,
    Start,
    Text,
    Turn,
    Word,
)
from .prompted import whole_header
from .request import Request, RequestError, request_of

__all__ = [
    "ArgumentList",
    "Block",
    "JsonCall",
    "Literal",
    "Name",
    "Request",
    "RequestError",
    "RowCall",
    "RowItem",
    "Section",
    "Start",
    "Text",
    "Turn",
    "Word",
    "build",
    "request_of",
    "whole_header",
]
