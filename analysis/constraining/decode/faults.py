"""What can be wrong with an answer: a closed list, and the words for one case of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What an answer under a grammar must not be."""

    REFUSED = "is not accepted by the grammar"
    NOT_ENDED = "does not end"
    NOT_READ = "is not read as a whole message"
    JUNK = "has junk"
    REQUEST = "is not what the request asks for"
    ARGUMENTS = "has arguments that their schema does not allow"
    CONTENT = "has content that json_schema does not allow"
    RENDERING = "is rendered otherwise"


class Rendering(StrEnum):
    """What the template makes of the message that an answer was read as."""

    SAME = "the same text"
    WHITESPACE = "the same but for whitespace that the template strips or adds"
    SPELLING = "the same but for the spelling of equal values, or the numbers of calls"
    UNWRITTEN = "not compared: the template cannot be given such a message"
    OTHER = "another text"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One fault of one answer."""

    fault: Fault
    detail: str
    """What exactly, in words; it may quote the answer."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found out about one answer."""

    complaints: tuple[Complaint, ...]
    rendering: Rendering | None = None
    """None where an earlier fault leaves nothing to render."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.complaints
