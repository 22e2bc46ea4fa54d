"""A short conversation that stands for the one behind a prompt.

A bridge is given ids, not messages. So the turn that the model wrote is put behind a user message
that stands for all before it: reasoning and content as sentinels, calls with their names and ids,
since tool results refer to them. What the template writes behind that turn is what it would
write in the real conversation, as far as that depends on the turn and on what follows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.conversation import (
    Answer,
    Dialogue,
    Json,
    Message as Turn,
    Presence,
    ToolCall,
    User,
)
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.format import End, Part
from autoparser.analysis.parsing import ParsedMessage
from autoparser.analysis.probing import Sentinels, choose_sentinels

from .renders import Message, Messages, Renders, prepared
from .retention import Reason, RefusedBridge
from .shares import shared


@dataclass(frozen=True, slots=True)
class Base:
    """What stands before the turn: its messages, and their render."""

    renders: Renders
    messages: Messages
    before: str
    """What stands before the turn, whether the conversation ends there or goes on."""
    prompt: str
    """With the generation prompt."""


class Skeletons:
    """Builds such conversations for one template."""

    def __init__(self, analysis: Analysis) -> None:
        """Choose the sentinels."""
        self._analysis = analysis
        self.marks: Sentinels = choose_sentinels(analysis.template.text)
        self._base: Base | None = None

    def base(self, tools: Sequence[object] | None, switches: dict[str, object]) -> Base:
        """Render the user message that stands for all before. Raises TemplateRenderError."""
        known = self._base
        if known is not None and not known.renders.clock.asked and known.renders.tools == tools:
            return known
        renders = Renders.of(self._analysis.template, tools, switches)
        messages = self.dialogue((User(self.marks.user),))
        prompt = renders.text(messages, generation=True)
        ended = renders.attempt(messages)
        before = prompt if ended is None else prompt[: shared(ended, prompt)]
        self._base = Base(renders, messages, before, prompt)
        return self._base

    def dialogue(self, entries: Dialogue) -> list[Message]:
        """Give a conversation in the shape that the template takes."""
        shape = self._analysis.shape
        return prepared(shape.messages(entries, self.marks.system))

    def message(self, turn: Turn) -> Message:
        """Give one turn in that shape."""
        return prepared([self._analysis.shape.message(turn)])[0]

    def turn(self, parsed: ParsedMessage, new: Messages) -> Turn:
        """Give the turn with what a model wrote replaced by sentinels."""
        answered = [str(message.get("tool_call_id") or "") for message in new]
        answered = [id_ for id_ in answered if id_]
        spare = [*answered, *self.marks.ids[len(answered) :]]
        calls = tuple(
            ToolCall(call.name, _arguments(call.arguments), call.id or _at(spare, at))
            for at, call in enumerate(parsed.tool_calls)
        )
        content = self.marks.content if (parsed.content or "").strip() or not calls else ""
        reasoning = self.marks.reasoning if (parsed.reasoning_content or "").strip() else ""
        return Turn(content, reasoning, calls)

    def end(self, turn: Turn) -> tuple[str, End]:
        """Give the last text of a turn as it is written, and what ends the turn behind it."""
        format_ = self._analysis.format
        layout = format_.layouts[turn.presence]
        part = layout.parts[-1] if layout.parts else None
        end = next((end for end in format_.ends if end.after is part), None)
        if part is None or end is None or not layout.literals[-1].endswith(end.text):
            raise RefusedBridge(Reason.END_UNKNOWN, str(turn.presence))
        close = layout.literals[-1].removesuffix(end.text)
        if part is Part.CALLS and format_.calls is not None:
            return format_.calls.write(turn.calls) + close, end
        return (turn.content if part is Part.CONTENT else turn.reasoning) + close, end

    def earlier(self, *, reasoning: bool, calls: bool, tool: str) -> Dialogue:
        """Give a history with a finished exchange and one that is under way; `tool` is called."""
        marks = self.marks
        thought = marks.reasoning if reasoning else ""
        told = Turn(marks.content, thought)
        if not calls:
            return (User(marks.user), told, User(marks.next_user), told, User(marks.user))
        call = ToolCall(tool or marks.names[0], {marks.keys[0]: marks.values[0]}, marks.ids[0])
        called = Turn(reasoning=thought, calls=(call,))
        answer = Answer(marks.answer, call.name, call.id)
        cycle: Dialogue = (called, answer)
        return (User(marks.user), *cycle, told, User(marks.next_user), *cycle)

    @property
    def calls(self) -> bool:
        """Whether the template writes calls in a turn."""
        layout = self._analysis.format.layouts.get(Presence(calls=True))
        return self._analysis.format.calls is not None and layout is not None and not layout.refusal


def refused_as(error: TemplateRenderError) -> RefusedBridge:
    """Give a template's refusal as one of the bridge."""
    return RefusedBridge(Reason.REFUSED, error.reason)


def without_reasoning(turn: Turn) -> Turn:
    """Give the turn as a template writes it that drops reasoning."""
    return replace(turn, reasoning="")


def _arguments(text: str) -> dict[str, Json]:
    try:
        value = cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _at(ids: Sequence[str], at: int) -> str:
    return ids[at] if at < len(ids) else f"call{at:05d}"
