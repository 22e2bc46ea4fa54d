"""One conversation of the matrix: what is said, what is sent beside it, what must be read of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    User,
)
from autoparser.analysis.core.message_shape import ContentForm, Shape


class Voice(StrEnum):
    """Whose words a text is, and where in a turn it stands."""

    SYSTEM = "a system message"
    USER = "a user's message"
    REASONING = "reasoning"
    PREFACE = "content beside calls"
    ANSWER = "an answer"
    CALL = "a call"
    RESULT = "a tool's result"


@dataclass(frozen=True, slots=True)
class SpokenText:
    """A text that a conversation holds once."""

    voice: Voice
    text: str
    entry: int
    """The place in the dialogue of the message that says it; -1 for the system message."""
    call: ToolCall | None = None
    """The call whose argument it is, or the one whose result."""


@dataclass(frozen=True)
class WholeConversation:
    """One conversation as a caller sends it, with all that is sent beside it."""

    scene: str
    """What is said, in words: ``a call and its result``."""
    dialogue: Dialogue
    system: str = ""
    """The system message's text; empty for none."""
    tools: bool = False
    generation: bool = True
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches that are set, on top of those that the template needs."""
    other_form: bool = False
    """Content comes in the form that is not the template's own: parts for text, or text."""

    @cached_property
    def name(self) -> str:
        """Say in words which conversation of the matrix it is; no two have the same."""
        beside = [
            "a system message" if self.system else "",
            "tools" if self.tools else "",
            *(f"{name}={value!r}" for name, value in self.setting.items()),
            "content in the other form" if self.other_form else "",
        ]
        said = [each for each in beside if each]
        return f"{self.scene} with {' and '.join(said)}" if said else self.scene

    @cached_property
    def size(self) -> int:
        """Count what a person has to read to see what happens; the smaller is shown first."""
        beside = bool(self.system) + self.tools + self.other_form + 2 * len(self.setting)
        parts = sum(
            bool(each.content) + bool(each.reasoning) + len(each.calls)
            for each in self.dialogue
            if isinstance(each, Message)
        )
        return beside + len(self.dialogue) + parts

    @cached_property
    def spoken(self) -> tuple[SpokenText, ...]:
        """Every text that must be read, in the order of the conversation."""
        return tuple(self._spoken())

    def _spoken(self) -> Iterator[SpokenText]:
        calls: dict[str, ToolCall] = {}
        if self.system:
            yield SpokenText(Voice.SYSTEM, self.system, -1)
        for at, entry in enumerate(self.dialogue):
            match entry:
                case User():
                    yield SpokenText(Voice.USER, entry.text, at)
                case ToolResult():
                    yield SpokenText(Voice.RESULT, entry.text, at, calls.get(entry.call_id))
                case Message():
                    calls |= {call.id: call for call in entry.calls}
                    yield from _of_message(entry, at)

    def messages(self, shape: Shape) -> list[dict[str, Json]]:
        """Return the messages, the system's first, in the shape that a template takes."""
        wanted = _otherwise(shape) if self.other_form else shape
        messages = replace(wanted, system=False).messages(self.dialogue)
        if self.system:
            messages.insert(0, {"role": "system", "content": wanted.user_text(self.system)})
        return messages


def _of_message(message: Message, at: int) -> Iterator[SpokenText]:
    if message.reasoning:
        yield SpokenText(Voice.REASONING, message.reasoning, at)
    if message.content:
        voice = Voice.PREFACE if message.calls else Voice.ANSWER
        yield SpokenText(voice, message.content, at)
    for call in message.calls:
        for value in call.arguments.values():
            yield SpokenText(Voice.CALL, str(value), at, call)


def _otherwise(shape: Shape) -> Shape:
    def other(form: ContentForm) -> ContentForm:
        return ContentForm.TEXT if form is ContentForm.PARTS else ContentForm.PARTS

    return replace(
        shape,
        user_content=other(shape.user_content),
        assistant_content=other(shape.assistant_content),
    )
