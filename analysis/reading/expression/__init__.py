"""The expression of a turn: what a model may write, for one request."""

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
from .request import Request, RequestError, RequestOptions, request_of
from .turn_expression import belonging, build

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
    "RequestOptions",
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
