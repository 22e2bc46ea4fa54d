"""What is refused: a constraint that cannot be, a token that a constraint does not allow."""

from __future__ import annotations

from autoparser.analysis.core.errors import AutoparserError

__all__ = ["ConstraintError", "RefusedTokenError"]


class ConstraintError(AutoparserError):
    """A constraint contradicts itself or another, or cannot be compiled."""


class RefusedTokenError(AutoparserError):
    """A token was written that the constraint does not allow; the state is as before it."""
