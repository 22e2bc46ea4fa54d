"""Render a template's turns after its generation prompts, independently of the learned format.

    render(question + answer) minus render(question, generation prompt) = what the model writes

Both are rendered by `ChatTemplate.render`. The analysis contributes only the shape of messages;
messages and tools differ from those of the self-check's battery.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from autoparser import Analysis, Json, Message, ToolCall
from autoparser.analysis.core.conversation import (
    Tool,
    ToolResult,
    UserMessage,
    tool_for,
    with_properties,
)
from autoparser.analysis.core.message_battery import battery_messages, battery_tools, loose_tools
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.grammar.turn_rules import text_without_end
from autoparser.errors import TemplateRenderError
from tests.case_tables import load_cases

TABLES = load_cases(__file__, "rendered_turns.yaml")
_IDS = ("xY7zA2bC9", "dE4fG8hJ1")
_TYPED: dict[str, Json] = TABLES["typed"]
TRAIN = ToolCall("find_train", {"start": "Bergen", "hours": 6}, _IDS[0])
BOOKING = ToolCall("book_seat", _TYPED, _IDS[1])

MESSAGES: Mapping[str, Message] = {
    "plain content": Message("There are two trains today."),
    "content of paragraphs": Message("Two trains run today:\n\n- one at 8\n- one at 9 (slow)"),
    "reasoned content": Message("Take the early one.", "Both are on time.\nThe early one is fast."),
    "a call": Message(calls=(TRAIN,)),
    "content beside a call": Message("Looking for trains.", calls=(TRAIN,)),
    "reasoning beside a call": Message("", "Trains have to be found first.", (TRAIN,)),
    "all parts, two calls": Message("Looking, then booking.", "Both at once.", (TRAIN, BOOKING)),
    "a value of every type": Message(calls=(replace(BOOKING, id=_IDS[0]),)),
    "quotes and lines": Message(
        calls=(ToolCall("book_seat", {"note": 'He said "now",\nshe said \\no.'}, _IDS[0]),)
    ),
    "two calls of one function": Message(
        calls=(TRAIN, ToolCall("find_train", {"start": "Lyon", "hours": 1}, _IDS[1]))
    ),
}

TOOLS: tuple[Tool, ...] = (
    tool_for("find_train", "Find a train.", {"start": "string", "hours": "integer"}),
    tool_for(
        "book_seat",
        "Book a seat.",
        {
            "note": "string",
            "seats": "integer",
            "limit": "number",
            "flexible": "boolean",
            "pets": "boolean",
            "agent": "string",
            "stops": "array",
            "extra": "object",
        },
    ),
)


_LOOSE: Mapping[str, Json] = TABLES["loose"]
OFFERED: tuple[Json, ...] = tuple(
    {"type": "function", "function": with_properties(tool, _LOOSE.get, required=[])}
    for tool in TOOLS
)
"""The tools of a request, whose schemas all of the arguments meet."""


class Silence(StrEnum):
    """Reason why the text of a message after a prompt is unknown."""

    UNPROMPTED = "the prompt cannot be rendered"
    REFUSED = "the template refuses the message"
    UNANSWERED = "calls need results, and those hide the end of the turn"
    REWRITTEN = "the message changes the text before its turn"
    OTHERWISE = "the prompt has text that the turn lacks"
    NOTHING = "the turn has no text after the prompt"


@dataclass(frozen=True, slots=True)
class RenderedTurn:
    """A template's text of one message after one prompt."""

    title: str
    message: Message
    whole: str = ""
    text: str = ""
    """The text after the prompt."""
    least: int = 0
    """Length in bytes of the model's part; the end of the turn may follow, or of every
    conversation."""
    silence: Silence | None = None
    calls: tuple[ToolCall, ...] = ()
    """Of a rendered turn those that reach its text: without one of them it is another text."""


USER = UserMessage("When do trains run?")


@dataclass(frozen=True)
class TurnRenderer:
    """Renders under one setting, tools being offered or not."""

    analysis: Analysis
    setting: Mapping[str, Json]
    tools: bool = True
    offer: tuple[Tool, ...] = TOOLS

    def render(
        self, *messages: Message | UserMessage | ToolResult, generation: bool = False
    ) -> str | None:
        """Render the user's message and the given ones; None if the template raises."""
        shape = self.analysis.shape
        variables: dict[str, Any] = {**self.analysis.stand_ins, **self.setting}
        try:
            return self.analysis.rendering.render(
                shape.messages((USER, *messages), "Answer briefly."),
                offered_tools(self.offer, shape) if self.tools else None,
                add_generation_prompt=generation,
                **variables,
            )
        except TemplateRenderError:
            return None

    @cached_property
    def prompt(self) -> str | None:
        """The generation prompt, and all before it."""
        return self.render(generation=True)

    @cached_property
    def alone(self) -> str | None:
        """The user's message without a generation prompt."""
        return self.render()

    @cached_property
    def closing(self) -> str:
        """Text after every conversation that may belong to no turn, as far as renders show.

        A token that ends training examples, or a generation prompt that nobody asked for.
        """
        plain = MESSAGES["plain content"]
        whole, later = self.render(plain), self.render(plain, USER)
        if whole is None or later is None or later.startswith(whole):
            return ""
        return whole[len(whole) - prefix_length(whole[::-1], (self.alone or "")[::-1]) :]

    def turn(self, title: str, message: Message) -> RenderedTurn:
        """Find the template's text of a message after its generation prompt."""
        message = self._identified(message)
        if message.calls and self.analysis.shape.answered:
            return RenderedTurn(title, message, silence=Silence.UNANSWERED)
        prompt, whole, alone = self.prompt, self.render(message), self.alone
        if prompt is None:
            return RenderedTurn(title, message, silence=Silence.UNPROMPTED)
        if whole is None:
            return RenderedTurn(title, message, silence=Silence.REFUSED)
        if whole.startswith(prompt):
            text = whole[len(prompt) :]
            if self.closing.endswith(text):
                return RenderedTurn(title, message, whole, silence=Silence.NOTHING)
            closing = self.closing if text.endswith(self.closing) else ""
            ends = [end for format_ in self.analysis.formats for end in format_.end_literals]
            bare = text_without_end(ends, text.removesuffix(closing))
            return RenderedTurn(title, message, whole, text, len(bare.encode()))
        same = alone is not None and whole.startswith(alone) and prompt.startswith(alone)
        silence = Silence.OTHERWISE if same else Silence.REWRITTEN
        return RenderedTurn(title, message, whole, silence=silence)

    def with_calls(self, turn: RenderedTurn) -> RenderedTurn:
        """Find the calls that reach a turn's text."""
        kept = (
            call
            for call in turn.message.calls
            if self.render(without(turn.message, call.id)) != turn.whole
        )
        return dataclasses.replace(turn, calls=tuple(kept))

    def _identified(self, message: Message) -> Message:
        """Let the ids carry the names, where the template writes the ids and not the names."""
        written = self.analysis.format.calls
        if written is None or written.naming is None:
            return message
        text, alone, write = self.render(message) or "", self.alone or "", written.naming.write
        calls = [replace(call, id=write(call.name, at)) for at, call in enumerate(message.calls)]
        named = any(
            text.count(call.name) == alone.count(call.name) and call.id in text
            for call in message.calls
        )
        return replace(message, calls=tuple(calls)) if named else message


def without(message: Message, id_: str, key: str | None = None) -> Message:
    """Leave out a call, or one of its arguments."""
    calls: list[ToolCall] = []
    for call in message.calls:
        if call.id != id_:
            calls.append(call)
        elif key is not None:
            kept = {name: value for name, value in call.arguments.items() if name != key}
            calls.append(replace(call, arguments=kept))
    return replace(message, calls=tuple(calls))


@dataclass(frozen=True, slots=True)
class RenderedTurns:
    """The texts after one prompt, message by message."""

    asked: TurnRenderer
    tools: Sequence[Json]
    """As a request offers them, with schemas that all of the calls meet."""
    turns: tuple[RenderedTurn, ...]
    silent: int
    """Number of messages without a known text after the prompt."""

    @property
    def prompt(self) -> str:
        return self.asked.prompt or ""


def rendered_turns(analysis: Analysis) -> Iterator[RenderedTurns]:
    """Render both sets of messages, nothing being set."""
    plain = TurnRenderer(analysis, analysis.formats.base)
    fixed = {case.title: case.message for case in battery_messages()}
    sets = (
        (dataclasses.replace(plain, offer=battery_tools()), loose_tools(), fixed),
        (plain, OFFERED, dict(MESSAGES)),
    )
    for asked, tools, messages in sets:
        found = [asked.turn(title, message) for title, message in messages.items()]
        turns = tuple(asked.with_calls(row) for row in found if row.silence is None)
        yield RenderedTurns(asked, tools, turns, len(found) - len(turns))
