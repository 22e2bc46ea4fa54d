"""The expression of a turn: what a model may write, for one request."""

from .build import belonging, build
from .expression_document import ExpressionDocument, expression_document
from .identity_cache import IdentityCache
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
    "IdentityCache",
    "JsonCall",
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
