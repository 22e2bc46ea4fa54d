"""What must be there for a rule to be able to look."""

from __future__ import annotations

from enum import StrEnum

from autoparser.analysis.core.format import Part


class Need(StrEnum):
    """What must be there for a rule to be able to look."""

    SOURCE = "a template"
    RENDERS = "a template that compiles"
    ANALYSIS = "a template that can be analysed"
    CALLS = "a template that writes tool calls"
    REASONING = "a template that writes reasoning"
    TOKENIZER = "a tokenizer"
    DIRECTORY = "a model directory"
    OTHER_JINJAS = "another program's Jinja"

    @property
    def part(self) -> Part | None:
        """The part of the format that a rule goes by; None: it goes by renders alone."""
        return {Need.CALLS: Part.CALLS, Need.REASONING: Part.REASONING}.get(self)
