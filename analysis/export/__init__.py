"""A format in the words of other programs, and what those cannot express."""

from .limits import Export, Limit, Piece
from .response_template import response_template

__all__ = ["Export", "Limit", "Piece", "response_template"]
