"""The closed list of causes why a round trip breaks."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """What keeps the next prompt from beginning with the last one and the sampled text."""

    RAISES = "raises"
    EARLIER = "earlier text rewritten"
    """The difference lies before the generation prompt."""
    REASONING_DROPPED = "reasoning dropped"
    """Or the empty block that stands for it: it is not in the history."""
    HEADER = "header differs"
    """The generation prompt writes what the turn in the history does not begin with."""
    REASONING_STRIPPED = "reasoning stripped"
    CONTENT_STRIPPED = "content stripped"
    CONTENT_DROPPED = "content dropped"
    WHITESPACE = "joint whitespace"
    """What stands between two parts of the turn."""
    ENCODED_TWICE = "encoded twice"
    ARGUMENT_FORM = "argument form"
    """Given as a string, the arguments are written otherwise than given as an object."""
    JSON_SPACING = "JSON spacing"
    JSON_ESCAPES = "JSON escapes"
    LITERALS = "Python literals"
    ORDER = "argument order"
    VALUES = "values rewritten"
    IDS = "ids"
    CALL_LOST = "call lost"
    """A call that was cut, malformed or one too many is not in the history."""
    CALL_REPAIRED = "call repaired"
    """It was read all the same, and is written as it should have been."""
    END = "end of turn differs"
    RETOKENIZED = "re-tokenization"
    """The texts agree and the tokens do not."""
    REWRITTEN = "turn written otherwise"
    """None of the above changes it."""
