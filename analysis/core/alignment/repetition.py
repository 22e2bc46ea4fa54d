"""Taking apart what repeats: calls in a section, arguments in a call, items in an array."""

from __future__ import annotations

from dataclasses import dataclass

from .boundaries import common_prefix, common_suffix


@dataclass(frozen=True, slots=True)
class Repetition:
    """What surrounds repeated things, cut into its parts."""

    prefix: str
    """Before the first."""
    open: str
    """Opens each."""
    separator: str
    close: str
    """Closes each."""
    suffix: str
    """After the last."""


def decompose(before: str, between: str, after: str) -> Repetition:
    """Take apart the literals before the first, between two and after the last thing.

    What follows a thing whether or not another comes is its close; what stands before a thing
    whether or not it is the first is its open. Whitespace at the outer edges belongs to the
    things' surroundings, so prefix + open == before and close + separator + open == between.
    """
    close = common_prefix(between, after).rstrip()
    rest = between[len(close) :]
    opening = common_suffix(before, rest).lstrip()
    return Repetition(
        prefix=before[: len(before) - len(opening)],
        open=opening,
        separator=rest[: len(rest) - len(opening)],
        close=close,
        suffix=after[len(close) :],
    )
