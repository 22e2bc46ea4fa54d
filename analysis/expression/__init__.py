"""The expression of a turn: what a model may write, for one request."""

from .build import belonging, build
from .document import expression_document
from .kept import Kept
from .nodes import (
    ArgumentList,
    Block,
    Body,
    JsonCall,
    Literal,
    Name,
    RowCall,
    RowItem,
    Section,
    Start,
    Strict,
    StrictItem,
    StrictRow,
    Text,
    Turn,
    Word,
)
from .prompted import whole_header
from .request import Request, RequestError, request_of

__all__ = [
    "ArgumentList",
    "Block",
    "Body",
    "JsonCall",
    "Kept",
    "Literal",
    "Name",
    "Request",
    "RequestError",
    "RowCall",
    "RowItem",
    "Section",
    "Start",
    "Strict",
    "StrictItem",
    "StrictRow",
    "Text",
    "Turn",
    "Word",
    "belonging",
    "build",
    "expression_document",
    "request_of",
    "whole_header",
]
