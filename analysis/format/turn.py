"""What an assistant turn looks like: the one value that everything after the analysis reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from autoparser.analysis.conversation import Json, Message, Presence

from .call import ArgumentForm, CallFormat, Limit
from .content import content_of
from .ends import end_literals_of
from .layout import Layout, Part
from .literal import Block, Literal
from .reasoning import reasoning_of


class RefusedMessageError(ValueError):
    """The template does not write such a message: it raises."""


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


@dataclass(frozen=True, slots=True)
class End:
    """What closes a turn."""

    after: Part
    text: str
    """Behind the last turn of a conversation."""
    historic: str | None
    """Behind an earlier turn, as far as it can be told from the next message; None: unknown."""


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
class TurnFormat:
    """An assistant turn, from where the text before it ends to the end of the text.

    What follows from its fields is answered once: what opens and closes a part, what ends a turn.
    """

    header: str
    """What begins every turn."""
    layouts: Mapping[Presence, Layout]
    calls: CallFormat | None = None
    openings: tuple[Opening, ...] = ()
    """The generation prompts of the settings under which turns look so."""
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
    unconfirmed: frozenset[Part] = frozenset()
    """Parts whose markers only the prompt's words spell out; no turn was seen with them."""
    elsewhere: frozenset[Part] = frozenset()
    """Parts that turns under these settings never have, but those under others do: what a model
    writes of them is read, and it is not asked to write them."""
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)

    @property
    def shown(self) -> frozenset[Part]:
        """The parts that some turn is written with."""
        return frozenset(part for layout in self.layouts.values() for part in layout.parts)

    @cached_property
    def reasoning(self) -> Block | None:
        """What opens and closes reasoning; None where nothing does."""
        return reasoning_of(self)

    @cached_property
    def content(self) -> Block:
        """What opens and closes content."""
        return content_of(self)

    @cached_property
    def end_literals(self) -> tuple[Literal, ...]:
        """The texts that end a turn, each with the whitespace between it and content."""
        return end_literals_of(self)

    @cached_property
    def header_mark(self) -> str:
        """The text by which a header is noticed; empty where it is only punctuation."""
        return Literal.of(self.header).mark

    @cached_property
    def whole(self) -> TurnFormat:
        """The format with its whole header.

        Where a switch varies the header's front, that is what the default prompt writes of it.
        """
        default = next(iter(self.openings), None)
        layouts = [layout for layout in self.layouts.values() if not layout.refusal]
        if (
            default is None
            or default.written is not Written.OTHER
            or not layouts
            or not default.text.startswith(self.header)
            or not all(layout.literals[0].startswith(default.text) for layout in layouts)
        ):
            return self
        return replace(self, header=default.text)

    def with_naming_ids(self, message: Message) -> Message:
        """Return the message with ids that carry the names, where nothing else of a call does."""
        calls = self.calls
        if calls is None or calls.naming is None:
            return message
        named = (
            replace(call, id=calls.naming.write(call.name, calls.index_base + at))
            for at, call in enumerate(message.calls)
        )
        return replace(message, calls=tuple(named))

    def without_end(self, text: str) -> str:
        """Cut off the end of a text what ends a turn."""
        for end in self.ends:
            text = text.removesuffix(end.text)
        return text

    def write(self, message: Message) -> str:
        """Write the turn as the template would, from the format alone.

        Raises RefusedMessageError where the template raises on such a message.
        """
        layout = self.layouts[message.presence]
        if layout.refusal:
            raise RefusedMessageError(layout.refusal)
        pieces = [layout.literals[0]]
        for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
            pieces.append(self._write_part(part, layout, message))
            pieces.append(literal)
        return "".join(pieces)

    def _write_part(self, part: Part, layout: Layout, message: Message) -> str:
        match part:
            case Part.REASONING:
                return layout.reasoning.apply(message.reasoning)
            case Part.CONTENT:
                return layout.content.apply(self._kept(message.content))
            case Part.CALLS:
                if self.calls is None:
                    return ""
                if self.calls.limit is Limit.REFUSED and len(message.calls) > 1:
                    raise RefusedMessageError(Limit.REFUSED.value)
                refused = self.calls.refused_type(message.calls)
                if refused is not None:
                    raise RefusedMessageError(f"raises on an argument of type {refused}")
                return self.calls.write(message.calls)

    def _kept(self, content: str) -> str:
        cut = self.reasoning_cut
        return content.rpartition(cut)[2] if cut else content
