"""Answers in the words of OpenAI's chat completions: one object, or the chunks of a stream."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.reading.parsing import Delta, DeltaKind, ParsedMessage

from .chat_error import ChatError
from .completion_events import CompletionEnd

LAST_EVENT = b"data: [DONE]\n\n"


def _new_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class CompletionForm:
    """What all parts of one answer have in common."""

    model: str
    id: str = field(default_factory=_new_id)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(
        self, message: ParsedMessage, end: CompletionEnd, beside: dict[str, Json]
    ) -> dict[str, Json]:
        """Return an answer that comes at once; `beside` stands beside its message."""
        told = message.to_openai()
        reason = told.pop("finish_reason", None)
        choice: Json = {"index": 0, "message": told, "finish_reason": reason, **beside}
        named = self._named("chat.completion")
        return {**named, "choices": [choice], "usage": usage(end)}

    def opening(self) -> bytes:
        """Return the event that a stream begins with."""
        return self._chunk({"role": "assistant", "content": ""}, None)

    def events(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events of deltas."""
        return b"".join(map(self._event, deltas))

    def last(self, end: CompletionEnd, beside: dict[str, Json] | None) -> bytes:
        """Return the event that tells what the answer took."""
        told = {**self._named("chat.completion.chunk"), "choices": [], "usage": usage(end)}
        return _event_of({**told, **(beside or {})})

    def _event(self, delta: Delta) -> bytes:
        if delta.kind is DeltaKind.FINISH:
            return self._chunk({}, delta.text)
        return self._chunk(delta.to_openai(), None)

    def _chunk(self, delta: Json, reason: str | None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event_of({**self._named("chat.completion.chunk"), "choices": [choice]})

    def _named(self, kind: str) -> dict[str, Json]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def error_event(error: ChatError) -> bytes:
    """Return the event of an error that comes after a stream has begun; nothing follows it."""
    return _event_of(error.to_openai())


def usage(end: CompletionEnd) -> dict[str, Json]:
    """Return what an answer took."""
    cached: Json = {"cached_tokens": end.cached_tokens}
    return {
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "total_tokens": end.prompt_tokens + end.completion_tokens,
        "prompt_tokens_details": cached,
    }


def _event_of(value: Json) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
