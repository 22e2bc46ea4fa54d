"""What was seen of an assistant turn: its layouts, its prompts, its ends, and how it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from autoparser.analysis.core.conversation import Json, Presence
from autoparser.analysis.core.evidence_kind import EvidenceKind

from .call import ArgumentForm, CallFormat
from .layout import Layout, Part
from .literal import Literal


class Written(StrEnum):
    """How much of the turn a generation prompt has already written."""

    NOTHING = "nothing"
    """Not even the header: the template has no generation prompt here."""
    HEADER = "the header"
    PART_OF_HEADER = "a part of the header"
    REASONING_OPEN = "the reasoning's opening"
    REASONING_CLOSED = "an empty reasoning block"
    OTHER = "text that the turn in the history does not have"


@dataclass(frozen=True, slots=True)
class Opening:
    """The generation prompt under one setting of the switches."""

    setting: Mapping[str, Json]
    text: str
    written: Written
    tools: bool = True
    """False: so it is only where no tools are offered."""
    signs: tuple[str, ...] = ()
    """Texts further up in the prompt, each of which prompts of some other format do not have."""
    stands_for: str | None = None
    """The beginning of a turn that the text amounts to, where a turn begins otherwise behind
    earlier turns: behind the result of a call some templates write no header."""

    @property
    def turn_begun(self) -> str:
        """How much of a turn, as it is behind a user's message, has been written."""
        return self.text if self.stands_for is None else self.stands_for


@dataclass(frozen=True, slots=True)
class End:
    """What closes a turn."""

    after: Part
    text: str
    """After the last turn of a conversation."""
    historic: str | None
    """After an earlier turn, as far as it can be told from the next message; None: unknown."""


@dataclass(frozen=True, slots=True)
class ReasoningRetention:
    """When the reasoning of an earlier turn is still in the prompt."""

    tool_loop: bool | None = None
    """After the call was answered; None: could not be observed."""
    next_user: bool | None = None
    """After the next user message, where tools are offered."""
    answered_loop: bool | None = None
    """In a tool loop, once a later user message came."""
    next_user_without_tools: bool | None = None
    """After the next user message, where no tools are offered."""

    @property
    def differs(self) -> bool:
        """Whether the next user message takes it with tools and not without, or the reverse."""
        return {self.next_user, self.next_user_without_tools} == {True, False}


@dataclass(frozen=True)
class TurnShape:
    """An assistant turn as it was seen, from where the text before it ends to the text's end."""

    header: str
    """What begins every turn."""
    layouts: Mapping[Presence, Layout]
    calls: CallFormat | None = None
    openings: tuple[Opening, ...] = ()
    """The generation prompts of the settings under which turns look so."""
    later_openings: tuple[Opening, ...] = ()
    """Those behind a call's result, or behind more turns, where they end as no other does."""
    ends: tuple[End, ...] = ()
    stop_strings: tuple[str, ...] = ()
    argument_form: ArgumentForm = ArgumentForm.OBJECT
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches under which the layouts were seen, the first of the openings' settings."""
    reasoning_cut: str | None = None
    """Where reasoning is only cut out of the content: the text up to and with this is lost."""
    reasoning_open: str = ""
    """What opens reasoning, where no turn shows it but a generation prompt or its words do."""
    reasoning_close: str = ""
    """What closes it there."""
    not_rendered: Mapping[Part, EvidenceKind] = field(default_factory=dict[Part, EvidenceKind])
    """Parts that no turn was rendered with, and what their evidence is instead."""
    elsewhere: frozenset[Part] = frozenset()
    """Parts that turns under these settings never have, but those under others do: what a model
    writes of them is read, and it is not asked to write them."""
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)

    @property
    def shown(self) -> frozenset[Part]:
        """The parts that some turn is written with."""
        return frozenset(part for layout in self.layouts.values() for part in layout.parts)

    @property
    def unconfirmed(self) -> frozenset[Part]:
        """Parts whose markers only the prompt's words spell out."""
        kinds = self.not_rendered.items()
        return frozenset(part for part, kind in kinds if kind is EvidenceKind.WORDS)

    @cached_property
    def header_mark(self) -> str:
        """The text by which a header is noticed; empty where it is only punctuation."""
        return Literal.of(self.header).mark

    def without_end(self, text: str) -> str:
        """Cut off the end of a text what ends a turn."""
        for end in self.ends:
            text = text.removesuffix(end.text)
        return text
