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
    WHITESPACE = "the same but for whitespace that the template strips or adds, or the parser drops"
    SPELLING = (
        "the same but for the spelling of equal values, the numbers of calls, or where arguments"
        " stand that no schema names"
    )
    BEGINNING = "the same after a beginning that every such turn has, and the answer has not"
    REASONING = "the same but for reasoning, which the template does not write"
    CLOSED = "the same after a block of reasoning that the prompt alone opens and closes"
    UNPROMPTED = "not asked: the same, but the template's turn does not go on from the prompt"
    UNWRITTEN = "not asked: the template cannot be given such a message"
    OTHER = "another text"

    @property
    def asked(self) -> bool:
        """Whether the template says how the answer is written after the prompt."""
        return self not in (Rendering.UNPROMPTED, Rendering.UNWRITTEN)

    @property
    def same_text(self) -> bool:
        """Whether the answer is part of the turn to the letter, but for dropped reasoning."""
        return self in (
            Rendering.SAME,
            Rendering.BEGINNING,
            Rendering.REASONING,
            Rendering.CLOSED,
            Rendering.UNPROMPTED,
        )


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
    difference: str = ""
    """What the template does not write so; empty where it writes the same text."""
    calls: int = 0
    """How many calls were read."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong, and the template writes this text as its turn, to the letter.

        What the prompt alone closes is no part of the answer.
        """
        return not self.complaints and self.rendering in (Rendering.SAME, Rendering.CLOSED)

    @property
    def not_asked(self) -> bool:
        """Whether the template does not say how this is written after the prompt."""
        return self.rendering is not None and not self.complaints and not self.rendering.asked

    @property
    def faults(self) -> frozenset[Fault]:
        """What is wrong."""
        return frozenset(complaint.fault for complaint in self.complaints)
