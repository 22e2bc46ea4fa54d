"""Serve the chat endpoint as an ASGI application; it needs the packages of the extra `serve`.

    request -> ChatEndpoint: body within bounds, `chat_request`, `ChatPreparer.prepare` in a thread
            -> ChatAnswer: ask the backend, parse its pieces, send a whole answer or events

Each chat is answered in one task, whose end closes the connection to the backend: when the answer
is whole, when the client hangs up, at the timeout, or when the backend fails.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field

import anyio
import anyio.to_thread
import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.parsing.output_parser import StreamParser

from .chat_preparer import LAST_EVENT, ChatPreparer, CompletionForm, PreparedChat, error_event
from .chat_request import (
    ChatError,
    ChatErrorKind,
    CompletionEnd,
    CompletionPiece,
    ServingLimits,
    as_chat_error,
    chat_request,
)
from .completion_backend import CompletionBackend

# Prometheus metrics. None of them contains text of a user.


class ServeMetrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        """Register the metrics, at zero."""
        self._registry = CollectorRegistry()
        self._chats = Counter(
            "autoparser_chats", "Chats answered, by status.", ["status"], registry=self._registry
        )
        self.hangups = Counter(
            "autoparser_hangups", "Clients that hung up.", registry=self._registry
        )
        self._tokens = Counter(
            "autoparser_tokens", "Tokens, as the backend counts.", ["of"], registry=self._registry
        )
        self.running = Gauge(
            "autoparser_running", "Chats that are being answered.", registry=self._registry
        )
        self.preparing = Histogram(
            "autoparser_preparing_seconds",
            "Time to render, and to make the grammar and the parser.",
            registry=self._registry,
        )

    def count_chat(self, status: int, end: CompletionEnd) -> None:
        """Count a chat, and its tokens."""
        self._chats.labels(str(status)).inc()
        self._tokens.labels("prompt").inc(end.prompt_tokens)
        self._tokens.labels("cached").inc(end.cached_tokens)
        self._tokens.labels("completion").inc(end.completion_tokens)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


# The answer to one chat.


@dataclass(frozen=True, slots=True)
class AnsweredChat:
    """The text sent to a backend and the text it wrote, for a log."""

    prompt: str
    completion: str
    prompt_token_ids: tuple[int, ...] | None
    token_ids: tuple[int, ...] | None


class BackendProgress:
    """The output of a backend so far."""

    def __init__(self, chat: PreparedChat, encode: Callable[[str], tuple[int, ...] | None]) -> None:
        """Start the parser of the chat; `encode` returns the model's token ids of a text."""
        self.chat = chat
        self.stream: StreamParser = chat.parser.stream()
        self.end = CompletionEnd("stop")
        self._encode = encode
        self._texts: list[str] = []
        self._ids: list[int] = []

    def take(self, piece: CompletionPiece) -> None:
        """Store a piece."""
        self._texts.append(piece.text)
        self._ids.extend(piece.ids)
        self.end = piece.end or self.end

    @property
    def complete(self) -> bool:
        """Whether the model ended the answer, not a limit or a stop string of the client."""
        stop, chat = self.end.stop_text, self.chat
        cut = stop in chat.request.stops and stop not in chat.grammar.stop_strings
        return self.end.reason == "stop" and not cut

    @property
    def text(self) -> str:
        """All text that was written."""
        return "".join(self._texts)

    @property
    def ids(self) -> tuple[int, ...] | None:
        """The token ids of the text, or None if they are not certain.

        A stream of llama-server omits the ids of characters that took several tokens. The ids of
        the encoded text are the fallback if there are as many as were written.
        """
        for found in (tuple(self._ids), self._encode(self.text)):
            if found and len(found) == self.end.completion_tokens:
                return found
        return None

    def beside(self) -> dict[str, Json]:
        """Return the fields that a request for ids gets beside the message."""
        chat, fields = self.chat, dict[str, Json]()
        if chat.request.return_token_ids:
            fields["prompt_token_ids"] = None if chat.prompt_ids is None else list(chat.prompt_ids)
            fields["token_ids"] = None if self.ids is None else list(self.ids)
        if chat.bridged is not None:
            fields["bridge"] = chat.bridged or "the prompt begins with the earlier turn's ids"
        return fields


@dataclass(eq=False)
class ChatAnswer:
    """The answer to one chat, as an ASGI response."""

    writing: BackendProgress
    backend: CompletionBackend
    form: CompletionForm
    metrics: ServeMetrics
    seconds: float
    """Seconds that the answer may take."""
    leave: Callable[[], None]
    """Called at the end in any case."""
    report_answer: Callable[[AnsweredChat], None] | None
    """Called with the chat if it was answered."""
    _sent_all: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; stop if the client hangs up."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._until_gone, receive, group.cancel_scope)
                await self._answer(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            self.leave()

    async def _until_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        # The server also sends this message after a whole answer.
        if not self._sent_all:
            self.metrics.hangups.inc()
            scope.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            self._sent_all = message.get("more_body") is False
            await send(message)

        try:
            async with asyncio.timeout(self.seconds):
                await self._ask(sending)
        except TimeoutError:
            error = ChatError(f"there is no answer within {self.seconds:g} s", ChatErrorKind.LATE)
        except ChatError as raised:
            error = raised
        else:
            self._finished(200)
            return
        self._finished(error.kind.status)
        self._sent_all = True
        if begun:
            await send(_body(error_event(error), more=False))
        else:
            await error_response(error)(scope, receive, send)

    async def _ask(self, send: Send) -> None:
        async with self.backend.open_completion(self.writing.chat) as pieces:
            if self.writing.chat.request.stream:
                await self._stream(pieces, send)
            else:
                await self._whole(pieces, send)

    async def _whole(self, pieces: AsyncIterator[CompletionPiece], send: Send) -> None:
        writing = self.writing
        async for piece in pieces:
            writing.take(piece)
        stream = writing.stream
        stream.feed(writing.text)
        stream.finish(complete=writing.complete)
        answer = self.form.whole(stream.message, writing.end, writing.beside())
        body = msgspec.json.encode(answer)
        await send(_head("application/json", len(body)))
        await send(_body(body, more=False))

    async def _stream(self, pieces: AsyncIterator[CompletionPiece], send: Send) -> None:
        writing, request = self.writing, self.writing.chat.request
        await send(_head("text/event-stream; charset=utf-8"))
        await send(_body(self.form.opening()))
        async for piece in pieces:
            writing.take(piece)
            deltas = writing.stream.feed(piece.text)
            if piece.end is not None:
                deltas += writing.stream.finish(complete=writing.complete)
            if deltas:
                await send(_body(self.form.events(deltas)))
        beside = writing.beside()
        options = request.stream_options
        last = b""
        if beside or (options is not None and options.include_usage):
            last = self.form.last(writing.end, beside)
        await send(_body(last + LAST_EVENT, more=False))

    def _finished(self, status: int) -> None:
        self.metrics.count_chat(status, self.writing.end)
        if status == 200 and self.report_answer is not None:  # noqa: PLR2004 - OK
            writing = self.writing
            prompt = writing.chat.prompt, writing.chat.prompt_ids
            self.report_answer(AnsweredChat(prompt[0], writing.text, prompt[1], writing.ids))


def error_response(error: ChatError) -> Response:
    """Return the response that is only an error."""
    headers = {"Retry-After": "1"} if error.kind is ChatErrorKind.BUSY else None
    return Response(
        msgspec.json.encode(error.to_openai()), error.kind.status, headers, "application/json"
    )


def _head(kind: str, length: int | None = None) -> dict[str, object]:
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": 200, "headers": headers}


def _body(body: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": more}


LINGERING = 8
"""A body up to this many times the limit is read and discarded, since a client whose body is not
read never sees the error."""


@dataclass(eq=False)
class ChatEndpoint:
    """Answers chats by one backend; it keeps no state between requests but its metrics."""

    preparer: ChatPreparer
    backend: CompletionBackend
    model: str
    """The name of the model in answers."""
    limits: ServingLimits = field(default_factory=ServingLimits)
    report_answer: Callable[[AnsweredChat], None] | None = None
    """Called with each chat that was answered."""
    _metrics: ServeMetrics = field(default_factory=ServeMetrics)
    _running: int = 0

    def application(self) -> Starlette:
        """Return the application, which closes the backend's connections at its end."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/health", self._health),
                Route("/metrics", self._told_metrics),
            ],
            lifespan=self._lifespan,
            exception_handlers={404: _not_here, 405: _not_here},
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        yield
        await self.backend.close()

    async def _chat(self, request: Request) -> ASGIApp:
        try:
            body = await self._body(request)
            self._enter()
        except ChatError as error:
            return self._refused(error)
        try:
            return await self._prepared(body)
        except AutoparserError as error:
            self._leave()
            return self._refused(as_chat_error(error))
        except BaseException:
            self._leave()
            raise

    def _enter(self) -> None:
        """Count a new chat. Raises ChatError if too many are running."""
        if self._running >= self.limits.requests:
            words = f"{self._running} chats are being answered"
            raise ChatError(words, ChatErrorKind.BUSY, hint="try again")
        self._running += 1
        self._metrics.running.set(self._running)

    def _leave(self) -> None:
        self._running -= 1
        self._metrics.running.set(self._running)

    def _refused(self, error: ChatError) -> Response:
        self._metrics.count_chat(error.kind.status, CompletionEnd("stop"))
        return error_response(error)

    async def _prepared(self, body: bytes) -> ChatAnswer:
        given = chat_request(body)
        with self._metrics.preparing.time():
            chat = await anyio.to_thread.run_sync(self.preparer.prepare, given)
        return ChatAnswer(
            BackendProgress(chat, self.preparer.encode),
            self.backend,
            CompletionForm(given.model or self.model),
            self._metrics,
            seconds=self.limits.seconds,
            leave=self._leave,
            report_answer=self.report_answer,
        )

    async def _body(self, request: Request) -> bytes:
        """Read a request's body. Raises ChatError if it is too large, too late, or cut off."""
        taken, length = bytearray(), 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for piece in request.stream():
                    length += len(piece)
                    if length <= self.limits.body:
                        taken += piece
                    elif length > LINGERING * self.limits.body:
                        break
        except TimeoutError:
            raise ChatError(
                f"the body did not come within {self.limits.body_seconds:g} s",
                ChatErrorKind.SLOW_BODY,
            ) from None
        except ClientDisconnect:
            raise ChatError("the client hung up", ChatErrorKind.SLOW_BODY) from None
        if length > self.limits.body:
            raise ChatError(
                f"the body has more than {self.limits.body} bytes",
                ChatErrorKind.TOO_LARGE,
                hint="send less, or start the server with a larger --max-body",
            )
        return bytes(taken)

    async def _models(self, _: Request) -> Response:
        model = {"id": self.model, "object": "model", "owned_by": "autoparser"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _health(self, _: Request) -> Response:
        well = await self.backend.healthy()
        return JSONResponse(
            {"status": "ok" if well else "the backend does not answer"}, 200 if well else 503
        )

    async def _told_metrics(self, _: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _not_here(request: Request, _: Exception) -> Response:
    words = f"there is nothing at {request.method} {request.url.path}"
    error = ChatError(words, hint="chats are answered at POST /v1/chat/completions")
    return JSONResponse(error.to_openai(), 404)
