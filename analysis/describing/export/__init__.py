"""A format in the words of other programs, and what those cannot express."""

from .limits import Export, Limit, Piece
from .response_template import response_template
from .trial import Mismatch, Parse, Read, Trial, transformers_parser, try_out

__all__ = [
    "Export",
    "Limit",
    "Mismatch",
    "Parse",
    "Piece",
    "Read",
    "Trial",
    "response_template",
    "transformers_parser",
    "try_out",
]
