"""An answer whose meaning is known, and the chat that it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoparser.analysis.core.conversation import Json, Message

__all__ = ["KnownText", "ProbedChat"]


@dataclass(frozen=True)
class ProbedChat:
    """The conversation that a request sends, in OpenAI's words."""

    messages: Sequence[Mapping[str, Json]]
    tools: Sequence[Json] = ()
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def body(self, model: str) -> dict[str, Json]:
        """Return the request."""
        asked: dict[str, Json] = {"messages": [dict(each) for each in self.messages]}
        if model:
            asked["model"] = model
        if self.tools:
            asked["tools"] = list(self.tools)
        if self.settings:
            asked["chat_template_kwargs"] = dict(self.settings)
        return asked

    @property
    def key(self) -> str:
        """What tells it from others: the request as JSON, in which the order of keys counts."""
        return json.dumps(self.body(""))


@dataclass(frozen=True, slots=True)
class KnownText:
    """An answer, and what it means."""

    title: str
    message: Message
    text: str
    """As the template writes it after its prompt, up to the end of the turn."""
    other: Message | None = None
    """What it means as well: the template writes the same text for it, and the schemas allow it."""

    @property
    def meanings(self) -> tuple[Message, ...]:
        """All messages that a reader may give."""
        return (self.message,) if self.other is None else (self.message, self.other)
