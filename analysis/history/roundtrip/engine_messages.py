"""Messages as an engine hands them to the template: the turn that was parsed, and those before it.

For example an engine that passes no reasoning on and no content beside calls has made of an earlier
turn `{reasoning_content: "A lookup is due.", content: "Let me look.", tool_calls: […]}` only
`{content: "", tool_calls: […]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolResult,
)
from autoparser.analysis.core.message_shape import CallForm, ContentForm, EmptyContent, Shape

from .scenario import ArgumentsAs, BesideCalls, EngineHabits, MessagesAs

__all__ = ["EngineMessages", "json_value"]


@dataclass(frozen=True, slots=True)
class EngineMessages:
    """Writes messages as an engine with these habits does."""

    best: Shape
    """The shape that the template takes best."""
    engine: EngineHabits
    parts: bool
    """Whether the template takes content as a list of parts."""

    def conversation(self, dialogue: Dialogue, system: str = "") -> list[Mapping[str, Json]]:
        """Return a conversation whose turns went through this engine."""
        shape = self._shape
        messages: list[Mapping[str, Json]] = [*shape.messages((), system)]
        for entry in dialogue:
            match entry:
                case Message():
                    texts = [json.dumps(call.arguments, ensure_ascii=False) for call in entry.calls]
                    messages.append(self.turn(entry, texts))
                case ToolResult():
                    messages += map(self._result, self._result_shape.messages((entry,)))
                case _:
                    messages += shape.messages((entry,))
        return messages

    def turn(self, said: Message, arguments: Sequence[str]) -> Mapping[str, Json]:
        """Return the message of a turn; `arguments` has those of each call, as JSON text."""
        engine, shape = self.engine, self._shape
        content = said.content
        if said.calls and engine.beside_calls is not BesideCalls.VERBATIM:
            content = content.strip() if engine.beside_calls is BesideCalls.STRIPPED else ""
        reasoning = said.reasoning.rstrip() if engine.strips_reasoning else said.reasoning
        fields = engine.reasoning_fields
        message = shape.message(Message(content, reasoning if fields is None else "", said.calls))
        if fields is None and shape.reasoning_field is None:
            fields = ("reasoning_content",)
        if reasoning:
            message.update(dict.fromkeys(fields or (), reasoning))
        return self._with_arguments(message, arguments)

    @property
    def _shape(self) -> Shape:
        if self.engine.messages is MessagesAs.TEMPLATE:
            return self.best
        form = self.engine.messages is MessagesAs.API_PARTS and self.parts
        shape = replace(self.best, calls=CallForm.WRAPPED, empty_content=EmptyContent.EMPTY)
        parts = ContentForm.PARTS
        return replace(shape, user_content=parts, assistant_content=parts) if form else shape

    @property
    def _result_shape(self) -> Shape:
        """Return that of a result, whose texts an engine that makes parts joins again."""
        parts = self.engine.messages is MessagesAs.API_PARTS
        return replace(self.best, assistant_content=ContentForm.TEXT) if parts else self.best

    def _result(self, message: Mapping[str, Json]) -> Mapping[str, Json]:
        """Leave out the function's name, which a result of OpenAI's API does not have."""
        if self.engine.messages is MessagesAs.TEMPLATE:
            return message
        return {key: value for key, value in message.items() if key != "name"}

    def _with_arguments(self, message: dict[str, Json], texts: Sequence[str]) -> Mapping[str, Json]:
        """Return the arguments in the form that the engine gives them."""
        form, shape = self.engine.arguments, self._shape
        string = form is ArgumentsAs.STRING or (
            form is ArgumentsAs.TEMPLATE and shape.arguments_as_string
        )
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            return message
        given: list[Json] = []
        for call, text in zip(calls, texts, strict=True):
            if not isinstance(call, dict):
                continue
            arguments: Json = text if string else json_value(text)
            function = call.get("function")
            if shape.calls is CallForm.WRAPPED and isinstance(function, dict):
                given.append({**call, "function": {**function, "arguments": arguments}})
            else:
                given.append({**call, "arguments": arguments})
        return {**message, "tool_calls": given}


def json_value(text: str) -> Json:
    """Return what a JSON text says; the text itself where it is not JSON."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value
