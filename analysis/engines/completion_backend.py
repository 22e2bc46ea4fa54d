"""Request completions from a server, and decode the pieces of its answer.

llama-server is asked at its own `/completion`, which also reports ids, counts and cached tokens;
others at OpenAI's `/v1/completions`. For example

    data: {"content": "Hi", "tokens": [13347], "stop": false}   ->  CompletionPiece("Hi", (13347,))
    data: {"choices": [{"text": "Hi", "finish_reason": null}]}  ->  CompletionPiece("Hi")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.decoding.answer_writers import grammar_fields, marker_fields

from .chat_preparer import PreparedChat
from .chat_request import ChatError, ChatErrorKind, ChatRequest


@dataclass(frozen=True, slots=True)
class CompletionEnd:
    """The finish reason of a completion and its token counts."""

    reason: Literal["stop", "length"]
    """`"length"` if a token limit cut the text."""
    prompt_tokens: int = 0
    """Tokens of the prompt; 0 if the backend does not report them."""
    completion_tokens: int = 0
    """Tokens of the text, e.g. 9."""
    cached_tokens: int = 0
    """Tokens of the prompt that the backend had in its cache, e.g. 874."""
    stop_text: str = ""
    """The stop string that ended it, e.g. `"<|im_end|>"`; empty if a token did, or if the backend
    does not report it."""


@dataclass(frozen=True, slots=True)
class CompletionPiece:
    """The output of a backend since the previous piece."""

    text: str = ""
    """The text, e.g. `"<tool_call>"`; empty for the end alone."""
    ids: tuple[int, ...] = ()
    """Its token ids, e.g. `(13347,)`; empty if the backend does not report them."""
    end: CompletionEnd | None = None
    """How the completion ended, e.g. `CompletionEnd("stop", …)`, or None before its end."""
    logprobs: tuple[dict[str, Any], ...] = ()
    """An object for each token, as in OpenAI's chat completions, e.g.
    `{"token": "Hi", "logprob": -0.5, …}`."""


LEAST_LOGPROB = -9999.0
"""Replaces the logarithm of 0, which JSON cannot express."""


def token_logprob(
    token: str, logprob: float | None, others: Mapping[str, float | None]
) -> dict[str, Any]:
    """Return a token's entry in `logprobs`; `others` are the likeliest tokens at its place."""

    def describe_token(text: str, value: float | None) -> dict[str, Json]:
        least = LEAST_LOGPROB if value is None else max(value, LEAST_LOGPROB)
        return {"token": text, "logprob": least, "bytes": list(text.encode(errors="replace"))}

    top: list[Json] = [describe_token(text, value) for text, value in others.items()]
    return {**describe_token(token, logprob), "top_logprobs": top}


class _Timings(Struct):
    cache_n: int = 0
    """Tokens of the prompt that were in the cache, e.g. 512."""


class _TopToken(Struct):
    token: str
    """The text of a token, e.g. `" Oslo"`."""
    logprob: float | None = None
    """The logarithm of its probability, e.g. -0.25, or None for the logarithm of 0."""


class _LikelyToken(Struct):
    token: str
    """The text of the token that was sampled, e.g. `"Hi"`."""
    logprob: float | None = None
    """The logarithm of its probability, e.g. -0.5."""
    top_logprobs: tuple[_TopToken, ...] = ()
    """The likeliest tokens at its place, e.g. `"Hi"` and `"é"`, if requested."""


class LlamaEvent(Struct):
    """An event of llama-server's `/completion`."""

    content: str
    """The new text, e.g. `"Hi"`."""
    tokens: tuple[int, ...] = ()
    """Its token ids, e.g. `(13347,)`; omitted for a character of several tokens until it is
    complete."""
    stop: bool = False
    """Whether this is the last event, as in `"stop": true`."""
    stop_type: str = ""
    """`"eos"`, `"word"` or `"limit"`; empty before the end."""
    stopping_word: str = ""
    """The stop string that ended it, e.g. `","`, if one did."""
    tokens_evaluated: int = 0
    """Tokens of the prompt, e.g. 811."""
    tokens_predicted: int = 0
    """Tokens of the text, e.g. 9."""
    timings: _Timings | None = None
    """Timings, which include the number of cached tokens, e.g. `{"cache_n": 874, …}`."""
    completion_probabilities: tuple[_LikelyToken, ...] = ()
    """The tokens with their log probabilities, e.g. `{"token": "Hi", "logprob": -0.5, …}`, if
    requested."""

    def piece(self, _: CompletionEnd | None) -> CompletionPiece:
        """Return the event as a piece of the completion."""
        logprobs = tuple(
            token_logprob(
                token.token, token.logprob, {top.token: top.logprob for top in token.top_logprobs}
            )
            for token in self.completion_probabilities
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
    """The texts of the tokens, e.g. `("Hi", "!")`."""
    token_logprobs: tuple[float | None, ...] = ()
    """The logarithm of the probability of each, e.g. `(-0.1, -0.5)`."""
    top_logprobs: tuple[dict[str, float | None] | None, ...] | None = None
    """The likeliest tokens at each place, by text: `({"Hi": -0.1, "Hello": -2.4}, …)`."""

    def describe_tokens(self) -> tuple[dict[str, Any], ...]:
        # Null if the server lists no alternatives.
        tops = self.top_logprobs or (None,) * len(self.tokens)
        return tuple(
            token_logprob(token, logprob, top or {})
            for token, logprob, top in zip(self.tokens, self.token_logprobs, tops, strict=False)
        )


class _Choice(Struct):
    text: str | None = None
    """The new text, e.g. `"<tool_call>"`."""
    finish_reason: str | None = None
    """`"stop"` or `"length"` at the end; None before it."""
    token_ids: tuple[int, ...] | None = None
    """The ids of the text, e.g. `(13347,)`, if the server reports them."""
    logprobs: _Logprobs | None = None
    """The log probabilities of its tokens, e.g. -0.1 for `"Hi"`, if requested."""
    stop_reason: str | int | None = None
    """The stop string or the id of the token that ended it, e.g. 151645, in vLLM."""
    matched_stop: str | int | None = None
    """The same in SGLang, e.g. `"<|im_end|>"`."""


class _Cached(Struct):
    cached_tokens: int | None = 0
    """Tokens of the prompt that were in the cache, e.g. 874."""


class _Usage(Struct):
    prompt_tokens: int = 0
    """Tokens of the prompt, e.g. 42."""
    completion_tokens: int = 0
    """Tokens of the text so far, or of all of it, e.g. 9."""
    prompt_tokens_details: _Cached | None = None
    """The part of the prompt that was in the cache, `{"cached_tokens": 874}`, if the server reports
    it."""


class OpenAIEvent(Struct):
    """An event of OpenAI's `/v1/completions`."""

    choices: tuple[_Choice, ...]
    """The choice of the event, e.g. with the text `"Hi"`; empty in the one that has the usage."""
    usage: _Usage | None = None
    """The token counts, e.g. `{"prompt_tokens": 42, …}`, in the last event."""

    def piece(self, end: CompletionEnd | None) -> CompletionPiece:
        """Return the event as a piece; `end` is the end that earlier events announced.

        The reason comes in one event, and what the answer took in a later one.
        """
        choice = self.choices[0] if self.choices else _Choice()
        # The final usage event has no choices, so keep the earlier finish reason.
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
        logprobs = () if choice.logprobs is None else choice.logprobs.describe_tokens()
        return CompletionPiece(choice.text or "", choice.token_ids or (), end, logprobs)


SHOWN = 300
"""Most characters of a backend's own message that are shown."""
CONNECT = 20.0
"""Seconds for connecting: a server whose queue is full drops some attempts, and the system tries
again after 1, 3, 7 and 15 seconds."""
_DATA = "data:"
_DONE = "[DONE]"


class CompletionBackend:
    """One server, and the connections to it."""

    def __init__(
        self,
        url: str,
        engine: ServerEngine,
        *,
        model: str = "",
        connections: int = 256,
        key: str = "",
    ) -> None:
        """Connect to the server at this address, with or without `/v1`; close it when done.

        `key` is what it wants as a bearer's token.
        """
        self.url = url.rstrip("/").removesuffix("/v1")
        self.engine = engine
        self.model = model
        # One connection more, so that health can be checked under load. No connection is reused: a
        # server may close it just as the next request begins, which looks like a crash to a client.
        bound = httpx2.Limits(max_connections=connections + 1, max_keepalive_connections=0)
        times = httpx2.Timeout(None, connect=CONNECT, pool=CONNECT)
        self._leading: str | None = None
        self._asking = asyncio.Lock()
        # Ignore the environment's proxies, which do not apply to a backend.
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.AsyncClient(
            limits=bound, timeout=times, headers=headers, trust_env=False
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def healthy(self) -> bool:
        """Return whether the server reports that it is healthy, within a second."""
        try:
            answer = await self._client.get(f"{self.url}/health", timeout=1.0)
        except httpx2.HTTPError:
            return False
        return answer.is_success

    @asynccontextmanager
    async def open_completion(
        self, chat: PreparedChat, index: int = 0
    ) -> AsyncGenerator[AsyncIterator[CompletionPiece]]:
        """Request a completion, and yield its pieces as they arrive. Raises ChatError.

        `index` is the number of the choice, which moves the seed. The connection is closed with
        the block, which tells the server to stop.
        """
        body = await self._body(chat, index)
        path = "/completion" if self._native else "/v1/completions"
        async with self._open_response(path, body) as answer:
            yield self._pieces(answer)

    @asynccontextmanager
    async def pass_on(
        self, body: Mapping[str, Json], model: str
    ) -> AsyncGenerator[tuple[str, AsyncIterator[bytes]]]:
        """Forward a request in OpenAI's form; yield the content type and the bytes as they arrive.

        `model` is put in the place of the name that the backend says. Raises ChatError.
        """

        async def lines(answer: httpx2.Response) -> AsyncIterator[bytes]:
            async for line in _lines(answer):
                head, data = (_DATA, line[len(_DATA) :]) if line.startswith(_DATA) else ("", line)
                try:
                    value = _decode_json(data, dict[str, Any])
                except msgspec.DecodeError:
                    yield f"{line}\n".encode()
                else:
                    named = {**value, "model": model} if "model" in value else value
                    yield f"{head} ".lstrip().encode() + msgspec.json.encode(named) + b"\n"

        async with self._open_response("/v1/completions", body) as answer:
            yield answer.headers.get("content-type", "application/json"), lines(answer)

    async def tokens(self, text: str) -> Sequence[int]:
        """Return the ids of a text, markers as their tokens. Raises ChatError."""
        body: dict[str, Json] = {"prompt": text, "add_special_tokens": False}
        if self._native:
            body = {"content": text, "add_special": False, "parse_special": True}
        if self.model:
            body["model"] = self.model
        async with self._open_response("/tokenize", body) as answer:
            try:
                value = _decode_json(await _whole_body(answer), _Tokens)
            except msgspec.DecodeError:
                words = "the backend's response has no token ids"
                raise ChatError(words, ChatErrorKind.BACKEND) from None
        return value.tokens

    @asynccontextmanager
    async def _open_response(
        self, path: str, body: Mapping[str, Json]
    ) -> AsyncGenerator[httpx2.Response]:
        """Send a request, and yield the successful response. Raises ChatError."""
        try:
            async with self._client.stream(
                "POST",
                f"{self.url}{path}",
                content=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
            ) as answer:
                if not answer.is_success:
                    error_text = (await _whole_body(answer)).decode(errors="replace")
                    raise self._refusal(answer.status_code, error_text)
                yield answer
        except httpx2.HTTPError as error:
            raise self._connection_error(error) from error

    def check(self, request: ChatRequest) -> None:
        """Raise ChatError for a parameter that this server does not have."""
        if request.min_tokens and self._native:
            raise ChatError("llama-server does not support min_tokens", place="min_tokens")

    @property
    def _native(self) -> bool:
        return self.engine.record.own_completion

    async def _text(self, prompt: str) -> str:
        """Return a prompt without the token that the server prepends to each text."""
        if not self._native:
            return prompt
        # Chats that begin together share one request.
        async with self._asking:
            if self._leading is None:
                self._leading = await self._leading_text()
        return prompt.removeprefix(self._leading or "")

    async def _leading_text(self) -> str | None:
        """Return the text of that token, or None if the server does not tell yet."""
        try:
            asked = {"content": "", "add_special": True}
            found = await self._client.post(f"{self.url}/tokenize", json=asked)
            # Without this endpoint, assume that nothing is prepended.
            if found.status_code == HTTPStatus.NOT_FOUND:
                return ""
            written = await self._client.post(f"{self.url}/detokenize", json=found.json())
            return str(written.json()["content"])
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            # The completion will fail, too, with a better error.
            return None

    async def _body(self, chat: PreparedChat, index: int) -> dict[str, Json]:
        request = chat.request
        stops: list[Json] = [*dict.fromkeys((*chat.grammar.stop_strings, *request.stops))]
        ids = chat.prompt_ids
        # A server prepends its token to texts, not to ids.
        prompt: Json = await self._text(chat.prompt) if ids is None else list(ids)
        body: dict[str, Json] = {"prompt": prompt, "stream": True, **request.sampling()}
        if request.seed is not None:
            # With one seed, all choices would be the same text.
            body["seed"] = request.seed + index
        if request.repetition_penalty is not None:
            name = "repeat_penalty" if self._native else "repetition_penalty"
            body[name] = request.repetition_penalty
        if request.logprobs:
            asked = request.top_logprobs
            # llama-server sends no probabilities at all for a number of 0.
            body["n_probs" if self._native else "logprobs"] = max(asked, 1 * self._native)
        if self.model:
            body["model"] = self.model
        if stops:
            body["stop"] = stops
        if request.limit is not None:
            body["n_predict" if self._native else "max_tokens"] = request.limit
        body |= (
            grammar_fields(self.engine, chat.grammar, chat.marker_tokenizer)
            if chat.constrained
            else marker_fields(self.engine, chat.grammar)
        )
        if request.min_tokens:
            body["min_tokens"] = request.min_tokens
        return {**body, **self.engine.record.completion_fields}

    async def _pieces(self, answer: httpx2.Response) -> AsyncIterator[CompletionPiece]:
        """Decode the events. Raises ChatError if they break off before the end."""
        end: CompletionEnd | None = None
        written = 0
        async for line in _lines(answer):
            if not line.startswith(_DATA):
                # llama-server reports an error in the middle of a stream on a line of its own.
                if line.startswith("error:"):
                    raise self._refusal(200, line)
                continue
            data = line[len(_DATA) :].strip()
            if data == _DONE:
                break
            piece = self._event(data).piece(end)
            end = piece.end or end
            # Each line has a limit; this limits a stream of any number of lines.
            written += len(piece.text)
            if written > LARGEST:
                raise _too_large()
            # Some events have none, such as the one with the usage.
            if piece.text or piece.ids or piece.logprobs:
                yield CompletionPiece(piece.text, piece.ids, logprobs=piece.logprobs)
        # Without an end, the connection broke: the text so far may be half a call.
        if end is None:
            raise ChatError("the backend's response ended early", ChatErrorKind.BACKEND)
        yield CompletionPiece(end=end)

    def _event(self, data: str) -> LlamaEvent | OpenAIEvent:
        try:
            return (
                _decode_json(data, LlamaEvent) if self._native else _decode_json(data, OpenAIEvent)
            )
        except msgspec.DecodeError:
            # Some servers report an error as an event of the stream.
            raise self._refusal(200, data) from None

    def _refusal(self, status: int, error_text: str) -> ChatError:
        """Return the error of a backend that refuses a request."""
        try:
            words = str(_decode_json(error_text, dict[str, Any])["error"]["message"])
        except (msgspec.DecodeError, LookupError, TypeError):
            words = error_text
        # These statuses mean an invalid request, so its sender gets them.
        invalid = status in (400, 413, 422)
        kind = ChatErrorKind.INVALID if invalid else ChatErrorKind.BACKEND
        kind = ChatErrorKind.BUSY if status in (429, 503) else kind
        if status in (401, 403):
            # The key belongs to this server, not to its clients.
            return ChatError("the backend rejected the API key", kind, hint="check --server-key")
        return ChatError(f"the backend rejected the request: {one_line(words, SHOWN)}", kind)

    def _connection_error(self, error: httpx2.HTTPError) -> ChatError:
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return ChatError("cannot connect to the backend", ChatErrorKind.BACKEND)
        if isinstance(error, httpx2.PoolTimeout):
            return ChatError("all connections to the backend are in use", ChatErrorKind.BUSY)
        return ChatError(
            "the backend closed the connection before the end of its response",
            ChatErrorKind.BACKEND,
        )


_Value = TypeVar("_Value")


def _decode_json(text: str | bytes, kind: type[_Value]) -> _Value:
    """Decode a backend's JSON. Raises DecodeError, also for JSON that is nested too deep."""
    try:
        return msgspec.json.decode(text, type=kind)
    except RecursionError:
        raise msgspec.DecodeError("nested too deep") from None


class _Tokens(msgspec.Struct):
    tokens: tuple[int, ...]
    """The ids of a text, e.g. `(151644, 872)`."""


LARGEST = 32_000_000
"""Most bytes of a line and of a whole answer, and most characters of its text."""


def _too_large() -> ChatError:
    words = f"the backend's response is larger than {LARGEST // 1_000_000} MB"
    return ChatError(words, ChatErrorKind.BACKEND)


async def _whole_body(answer: httpx2.Response) -> bytes:
    content = bytearray()
    async for piece in answer.aiter_bytes():
        content += piece
        if len(content) > LARGEST:
            raise _too_large()
    return bytes(content)


async def _lines(answer: httpx2.Response) -> AsyncIterator[str]:
    """Yield the lines of an event stream. Raises ChatError for one that is too long.

    They end at a line feed alone. httpx2's own lines end at U+2028 and its like, too, which may
    stand in a model's text and in the grammar that llama-server repeats.
    """
    held = bytearray()
    async for piece in answer.aiter_bytes():
        # Only the new piece is searched: a line may arrive in thousands of pieces.
        first, *lines = piece.split(b"\n")
        held += first
        for line in lines:
            yield held.decode(errors="replace").removesuffix("\r")
            held = bytearray(line)
        if len(held) > LARGEST:
            raise _too_large()
    yield held.decode(errors="replace")
