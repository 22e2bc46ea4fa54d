"""The expression of a turn: what a model may write, for one request."""

from .build import belonging, build
from .document import ExpressionDocument, expression_document
from .kept import Kept
from .nodes import (
    ArgumentList,
    Body,
    FreeText,
    JsonCall,
    Name,
    RowCall,
    RowItem,
    Section,
    Start,
    Strict,
    StrictItem,
    StrictRow,
    Turn,
    Word,
)
from .request import Request, RequestError, request_of

__all__ = [
    "ArgumentList",
    "Body",
    "ExpressionDocument",
    "FreeText",
    "JsonCall",
    "Kept",
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
    "Turn",
    "Word",
    "belonging",
    "build",
    "expression_document",
    "request_of",
]
