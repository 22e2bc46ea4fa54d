"""Read the events of backends as pieces of a completion: text, ids, log probabilities, end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from autoparser.analysis.core.conversation import Json


@dataclass(frozen=True, slots=True)
class CompletionEnd:
    """The finish reason of a completion and its token counts."""

    reason: Literal["stop", "length"]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    stop_text: str = ""
    """The text that ended it; empty where a token did, or a backend does not say."""


@dataclass(frozen=True, slots=True)
class CompletionPiece:
    """The output of a backend since the last piece."""

    text: str = ""
    ids: tuple[int, ...] = ()
    end: CompletionEnd | None = None
    logprobs: tuple[dict[str, Any], ...] = ()
    """One object a token, as OpenAI's chat completions have them."""


LEAST_LOGPROB = -9999.0
"""Stands for the logarithm of 0, which JSON cannot say."""


def token_logprob(
    token: str, logprob: float | None, others: Mapping[str, float | None]
) -> dict[str, Any]:
    """Return what a chat completion says of a token; `others` are the likeliest in its place."""

    def described(text: str, value: float | None) -> dict[str, Json]:
        least = LEAST_LOGPROB if value is None else max(value, LEAST_LOGPROB)
        return {"token": text, "logprob": least, "bytes": list(text.encode(errors="replace"))}

    top: list[Json] = [described(text, value) for text, value in others.items()]
    return {**described(token, logprob), "top_logprobs": top}


class _Timings(Struct):
    cache_n: int = 0


class _TopToken(Struct):
    token: str
    logprob: float | None = None


class _LikelyToken(Struct):
    token: str
    logprob: float | None = None
    top_logprobs: tuple[_TopToken, ...] = ()


class LlamaEvent(Struct):
    """An event of llama-server's `/completion`."""

    content: str
    tokens: tuple[int, ...] = ()
    stop: bool = False
    stop_type: str = ""
    stopping_word: str = ""
    tokens_evaluated: int = 0
    tokens_predicted: int = 0
    timings: _Timings | None = None
    completion_probabilities: tuple[_LikelyToken, ...] = ()

    def piece(self, _: CompletionEnd | None) -> CompletionPiece:
        """Return what it brings."""
        logprobs = tuple(
            token_logprob(
                each.token, each.logprob, {top.token: top.logprob for top in each.top_logprobs}
            )
            for each in self.completion_probabilities
        )
        if not self.stop:
            return CompletionPiece(self.content, self.tokens, logprobs=logprobs)
        cached = 0 if self.timings is None else self.timings.cache_n
        end = CompletionEnd(
            "length" if self.stop_type == "limit" else "stop",
            self.tokens_evaluated,
            self.tokens_predicted,
            cached,
            self.stopping_word,
        )
        return CompletionPiece(self.content, self.tokens, end, logprobs)


class _Logprobs(Struct):
    tokens: tuple[str, ...] = ()
    token_logprobs: tuple[float | None, ...] = ()
    top_logprobs: tuple[dict[str, float | None] | None, ...] | None = None

    def described(self) -> tuple[dict[str, Any], ...]:
        tops = self.top_logprobs or (None,) * len(self.tokens)
        return tuple(
            token_logprob(token, logprob, top or {})
            for token, logprob, top in zip(self.tokens, self.token_logprobs, tops, strict=False)
        )


class _Choice(Struct):
    text: str | None = None
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: _Logprobs | None = None
    stop_reason: str | int | None = None
    """vLLM's word for what ended it."""
    matched_stop: str | int | None = None
    """SGLang's."""


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
        stop = choice.stop_reason or choice.matched_stop or (None if end is None else end.stop_text)
        if reason is not None:
            usage = self.usage or _Usage()
            cached = usage.prompt_tokens_details or _Cached()
            end = CompletionEnd(
                "length" if reason == "length" else "stop",
                usage.prompt_tokens,
                usage.completion_tokens,
                cached.cached_tokens or 0,
                stop if isinstance(stop, str) else "",
            )
        logprobs = () if choice.logprobs is None else choice.logprobs.described()
        return CompletionPiece(choice.text or "", choice.token_ids or (), end, logprobs)
