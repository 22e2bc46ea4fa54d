"""What a backend streams, read as pieces of a completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class CompletionEnd:
    """How a completion came to its end, and what it took."""

    reason: Literal["stop", "length"]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CompletionPiece:
    """What a backend has written since the last piece."""

    text: str = ""
    ids: tuple[int, ...] = ()
    end: CompletionEnd | None = None


class _Timings(Struct):
    cache_n: int = 0


class LlamaEvent(Struct):
    """An event of llama-server's `/completion`."""

    content: str
    tokens: tuple[int, ...] = ()
    stop: bool = False
    stop_type: str = ""
    tokens_evaluated: int = 0
    tokens_predicted: int = 0
    timings: _Timings | None = None

    def piece(self, _: CompletionEnd | None) -> CompletionPiece:
        """Return what it brings."""
        if not self.stop:
            return CompletionPiece(self.content, self.tokens)
        cached = 0 if self.timings is None else self.timings.cache_n
        reason: Literal["stop", "length"] = "length" if self.stop_type == "limit" else "stop"
        end = CompletionEnd(reason, self.tokens_evaluated, self.tokens_predicted, cached)
        return CompletionPiece(self.content, self.tokens, end)


class _Choice(Struct):
    text: str | None = None
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None


class _Cached(Struct):
    cached_tokens: int | None = 0


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class OpenAIEvent(Struct):
    """An event of OpenAI's `/v1/completions`."""

    choices: tuple[_Choice, ...]
    usage: _Usage | None = None

    def piece(self, end: CompletionEnd | None) -> CompletionPiece:
        """Return what it brings; `end` is what earlier events said of the end.

        The reason comes in one event, and what the answer took in a later one.
        """
        choice = self.choices[0] if self.choices else _Choice()
        reason = choice.finish_reason or (None if end is None else end.reason)
        if reason is not None:
            usage = self.usage or _Usage()
            cached = usage.prompt_tokens_details or _Cached()
            end = CompletionEnd(
                "length" if reason == "length" else "stop",
                usage.prompt_tokens,
                usage.completion_tokens,
                cached.cached_tokens or 0,
            )
        return CompletionPiece(choice.text or "", choice.token_ids or (), end)
