"""Serve the chat endpoint as an ASGI application; it needs the packages of the extra `serve`.

    request -> ChatEndpoint: body within bounds; read and `ChatPreparer.prepare` in a thread
            -> ChatAnswer: ask the backend, parse its pieces, send a whole answer or events

Each chat is answered in one task, whose end closes the connection to the backend: when the answer
is whole, when the client hangs up, at the timeout, or when the backend fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hmac import compare_digest
from typing import Any, cast

import anyio
import anyio.to_thread
import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import one_line

from .chat_answers import AnswerForm, AnswerProgress, ChatForm, event
from .chat_preparer import ChatPreparer, PreparedChat
from .chat_request import (
    ChatError,
    ChatErrorKind,
    ChatRequest,
    ServingLimits,
    as_chat_error,
    chat_request,
    json_object,
)
from .client_apis import MessagesForm, ResponsesForm, messages_request, responses_request
from .completion_backend import CompletionBackend, CompletionEnd
from .output_watch import OutputWatch


class ServeMetrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        """Register the metrics, at zero."""
        # A registry of its own: two applications in one process would register the same names
        # twice.
        self._registry = CollectorRegistry()
        self._chats = Counter(
            "autoparser_chats", "Chats answered, by status.", ["status"], registry=self._registry
        )
        self.hangups = Counter(
            "autoparser_hangups", "Clients that disconnected.", registry=self._registry
        )
        self._tokens = Counter(
            "autoparser_tokens",
            "Tokens, as counted by the backend.",
            ["of"],
            registry=self._registry,
        )
        self.running = Gauge("autoparser_running", "Chats in progress.", registry=self._registry)
        self.preparing = Histogram(
            "autoparser_preparing_seconds",
            "Time to render the prompt and to build the grammar and the parser.",
            registry=self._registry,
        )
        self.outputs = OutputWatch(self._registry)
        """Counts outputs in another format, and calls that break their schema."""

    def count_chat(self, status: int, ends: Sequence[CompletionEnd]) -> None:
        """Count a chat, and the tokens of its choices."""
        self._chats.labels(str(status)).inc()
        for end in ends:
            self._tokens.labels("prompt").inc(end.prompt_tokens)
            self._tokens.labels("cached").inc(end.cached_tokens)
            self._tokens.labels("completion").inc(end.completion_tokens)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)


@dataclass(frozen=True, slots=True)
class AnsweredChat:
    """The text sent to a backend and the text it wrote, for a log."""

    prompt: str
    """The rendered prompt, e.g. `"<|im_start|>user\\nHi<|im_end|>\\n"`."""
    completion: str
    """The text that the backend wrote, markers included, e.g. `"Hello.<|im_end|>"`."""
    prompt_token_ids: tuple[int, ...] | None
    """The ids of the prompt, e.g. `(151644, 872)`, or None without a tokenizer."""
    token_ids: tuple[int, ...] | None
    """The ids of the completion, e.g. `(9707, 13)`, or None if they are not certain."""


@dataclass(eq=False)
class BackendAnswer(ABC):
    """An answer that a backend writes, as an ASGI response with bounds."""

    backend: CompletionBackend
    """The server that writes the text, e.g. llama-server at port 8080."""
    metrics: ServeMetrics
    """Where the answer is counted, e.g. as `autoparser_chats{status="200"}`."""
    seconds: float
    """Seconds that the answer may take, e.g. 600."""
    leave: Callable[[], None]
    """Called once the answer has ended, however it ended, e.g. `_Room.leave`."""
    begun: bool = field(default=False, init=False)
    """Whether anything was sent; then an error can only be an event, not a status of 4xx or 5xx."""
    sent_all: bool = field(default=False, init=False)
    """Whether the last piece was sent, so that a disconnect is not a hang-up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; stop if the client hangs up."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._until_gone, receive, group.cancel_scope)
                await self._answer(scope, receive, send)
                # The response is complete, so stop waiting for the client to disconnect.
                group.cancel_scope.cancel()
        finally:
            self.leave()

    @abstractmethod
    async def write(self, send: Send) -> None:
        """Ask the backend, and send its answer. Raises ChatError."""

    @abstractmethod
    def count(self, status: int) -> None:
        """Count the finished answer."""

    @abstractmethod
    async def look_back(self) -> None:
        """Inspect the answer after the client has received it."""

    def error_event(self, error: ChatError) -> bytes:
        """Return the error event of an answer that has begun."""
        return event(error.to_openai())

    def error_body(self, error: ChatError) -> dict[str, Json]:
        """Return the body of an error response."""
        return error.to_openai()

    async def _until_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        # The body was read before, so only the end of the connection can come.
        while (await receive())["type"] != "http.disconnect":
            pass
        # The server also sends this message after a complete response.
        if not self.sent_all:
            self.metrics.hangups.inc()
            scope.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self.seconds):
                await self.write(send)
        except TimeoutError:
            error = ChatError(f"no answer within {self.seconds:g} s", ChatErrorKind.LATE)
        except Exception as raised:  # noqa: BLE001 - whatever it is, the client gets an error
            error = as_chat_error(_first_error(raised))
        else:
            self.count(200)
            await self.look_back()
            return
        self.count(error.kind.status)
        self.sent_all = True
        if self.begun:
            # The status was sent with the first piece, so that the error can only be an event.
            await send(_body(self.error_event(error), more=False))
        else:
            await error_response(error, self.error_body)(scope, receive, send)


@dataclass(eq=False)
class ChatAnswer(BackendAnswer):
    """The answer to one chat."""

    answers: Sequence[AnswerProgress]
    """One a choice, e.g. 3 for `"n": 3`."""
    form: AnswerForm
    """How the API of the request writes answers, e.g. a `ChatForm`."""
    report_answer: Callable[[AnsweredChat], None] | None
    """Called with each choice of a chat if it was answered with status 200."""

    async def write(self, send: Send) -> None:
        """Request all choices concurrently, and send the parsed answers."""
        if len(self.answers) == 1:
            await self._read(self.answers[0], send)
        else:
            # If one choice fails, the others are cancelled, since the answer can only be an error.
            async with asyncio.TaskGroup() as group:
                for answer in self.answers:
                    group.create_task(self._read(answer, send))
        if self.form.request.stream:
            body = self.form.closing(self.answers)
        else:
            body = msgspec.json.encode(self.form.whole(self.answers))
            await send(_response_start("application/json", len(body)))
        self.begun = self.sent_all = True
        await send(_body(body, more=False))

    async def _read(self, answer: AnswerProgress, send: Send) -> None:
        stream = self.form.request.stream
        async with self.backend.open_completion(answer.chat, answer.index) as pieces:
            if stream and not self.begun:
                self.begun = True
                await send(_response_start("text/event-stream; charset=utf-8"))
                await send(_body(self.form.opening()))
            async for piece in pieces:
                # Parse in any case: a whole answer is built from the same parser.
                deltas = answer.take(piece)
                if stream and (events := self.form.events(answer, deltas)):
                    await send(_body(events))

    def count(self, status: int) -> None:
        """Count the answer and its tokens, and report it if it is whole."""
        self.metrics.count_chat(status, [answer.end for answer in self.answers])
        # A broken answer has no end, so its text is not one that the model would write.
        if status == 200 and self.report_answer is not None:  # noqa: PLR2004 - OK
            for answer in self.answers:
                prompt = answer.chat.prompt, answer.chat.prompt_ids
                self.report_answer(AnsweredChat(prompt[0], answer.text, prompt[1], answer.ids))

    async def look_back(self) -> None:
        """Count outputs in other formats; checking schemas takes a while."""
        for answer in self.answers:
            # In a thread: validation of one answer would keep all others waiting.
            await anyio.to_thread.run_sync(self.metrics.outputs.note, answer.message)

    def error_event(self, error: ChatError) -> bytes:
        """Return the event of an error in the answer's form."""
        return self.form.error(error)

    def error_body(self, error: ChatError) -> dict[str, Json]:
        """Return the error in the answer's form."""
        return self.form.error_body(error)


@dataclass(eq=False)
class PassedAnswer(BackendAnswer):
    """The backend's own answer to a completion, passed on as it comes."""

    body: Mapping[str, Json]
    """The request of the client, e.g. `{"prompt": "Hi", "max_tokens": 8}`."""
    model: str
    """The name of the model in the answer, e.g. `"parrot"`; the backend's may be a path."""

    async def write(self, send: Send) -> None:
        """Pass the request on, and each piece of its answer."""
        async with self.backend.pass_on(self.body, self.model) as (kind, pieces):
            async for piece in pieces:
                if not self.begun:
                    self.begun = True
                    await send(_response_start(kind))
                await send(_body(piece))
        if not self.begun:
            # Nothing was sent yet, so the client can still get an error with a status code.
            raise ChatError("the backend sent an empty response", ChatErrorKind.BACKEND)
        self.sent_all = True
        await send(_body(b"", more=False))

    def count(self, status: int) -> None:
        """Count nothing: it is not a chat, and its tokens are not known."""

    async def look_back(self) -> None:
        """Inspect nothing: the text was not parsed."""


def _first_error(error: Exception) -> Exception:
    """Return the error of the first task that failed."""
    causes: Sequence[Exception] = getattr(error, "exceptions", ())
    return _first_error(causes[0]) if causes else error


def error_response(
    error: ChatError, body: Callable[[ChatError], Json] = ChatError.to_openai
) -> Response:
    """Return the response that is only an error."""
    headers: dict[str, str] = {}
    if error.kind is ChatErrorKind.BUSY:
        # OpenAI's client waits as long as this header says.
        headers["Retry-After"] = "1"
    if error.kind is ChatErrorKind.LOCKED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        msgspec.json.encode(body(error)), error.kind.status, headers, "application/json"
    )


def _response_start(kind: str, length: int | None = None) -> dict[str, object]:
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"no-store")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": 200, "headers": headers}


def _body(body: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": more}


BESIDE = 64
"""Request bodies that may be arriving in addition to the running chats."""
LINGERING = 8
"""A body up to this many times the limit is read and discarded, since a client whose body is not
read never sees the error."""


AT_ONCE = 2
"""Chats that are prepared at the same time: one renders in the worker, one writes its grammar.
Forty threads that each want the interpreter keep all of them, and the streams, waiting."""


@dataclass(frozen=True)
class ServedApi:
    """An API that asks for messages: how it is read, and how its answers are written."""

    read: Callable[[dict[str, Any]], ChatRequest]
    """Converts a body to a chat request, e.g. `messages_request`."""
    form: type[AnswerForm]
    """Writes the answers, e.g. `MessagesForm`."""


APIS = {
    "/v1/chat/completions": ServedApi(chat_request, ChatForm),
    "/v1/messages": ServedApi(messages_request, MessagesForm),
    "/v1/responses": ServedApi(responses_request, ResponsesForm),
}


@dataclass(eq=False)
class ChatEndpoint:
    """Answers chats by one backend; it keeps no state between requests but its metrics."""

    preparer: ChatPreparer
    """Renders prompts, and makes grammars and parsers, e.g. for 1 template."""
    backend: CompletionBackend
    """The server that writes the text, e.g. at `"http://127.0.0.1:8080"`."""
    model: str
    """The name of the model in answers, e.g. `"parrot"`."""
    limits: ServingLimits = field(default_factory=ServingLimits)
    """Limits on bodies, time and concurrent requests, e.g. 8,000,000 bytes, 600 seconds, 256
    requests."""
    report_answer: Callable[[AnsweredChat], None] | None = None
    """Called with each answered chat."""
    api_key: str = ""
    """The key that clients have to send, as in `Authorization: Bearer KEY`; empty to require
    none."""
    origins: Sequence[str] = ()
    """The origins whose pages may ask, as CORS has them; `*` is all."""
    running: int = field(default=0, init=False)
    """Chats that are being answered, by their choices: `"n": 3` counts 3."""
    _bodies: int = field(default=0, init=False)
    """Request bodies that are arriving, at most 64 more than chats may run."""
    _metrics: ServeMetrics = field(default_factory=ServeMetrics, init=False)
    """The metrics, which `/metrics` reports."""
    _preparing: tuple[anyio.CapacityLimiter, anyio.CapacityLimiter] = field(
        default_factory=lambda: (anyio.CapacityLimiter(AT_ONCE), anyio.CapacityLimiter(AT_ONCE)),
        init=False,
    )
    """Limiters of concurrent preparation, of bodies up to 1 MB and of larger ones, so that small
    requests do not wait for large ones."""

    def application(self) -> ASGIApp:
        """Return the application, which closes the backend's connections at its end."""
        middleware = [Middleware(KeyGuard, key=self.api_key)] if self.api_key else []
        if self.origins:
            every = ["*"]
            cors = Middleware(
                CORSMiddleware, self.origins, allow_methods=every, allow_headers=every
            )
            # Insert CORS before the guard: a browser's preflight request carries no key.
            middleware.insert(0, cors)
        return Starlette(
            routes=[
                *(
                    Route(path, _adapt_endpoint(partial(self._answer, api=api)), methods=["POST"])
                    for path, api in APIS.items()
                ),
                Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
                Route("/v1/completions", _adapt_endpoint(self._complete), methods=["POST"]),
                Route("/tokenize", self._tokenize, methods=["POST"]),
                Route("/props", self._props),
                Route("/v1/models", self._models),
                Route("/health", self._health),
                Route("/metrics", self._answer_metrics),
            ],
            middleware=middleware,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _not_here, Exception: _internal_error},
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        yield
        await self.backend.close()

    def count_running(self, more: int) -> None:
        """Count running chats up or down."""
        self.running += more
        self._metrics.running.set(self.running)

    async def _answer(self, request: Request, api: ServedApi) -> ASGIApp:
        room = _Room(self)
        try:
            body = await self._body(request)
            room.body = len(body)
            room.enter(1)
            with self._metrics.preparing.time():
                form, chat = await anyio.to_thread.run_sync(
                    self._prepare_chat, body, api, limiter=self._preparing[len(body) > LARGE_BODY]
                )
            # The number of choices is only known after parsing the body, which has taken one place.
            room.enter(form.request.n - 1)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error
            room.leave()
            refused = as_chat_error(error)
            self._metrics.count_chat(refused.kind.status, ())
            return error_response(refused, api.form.error_body)
        # A cancelled request gives its place back, too.
        except BaseException:
            room.leave()
            raise
        encode = self.preparer.encode
        return ChatAnswer(
            self.backend,
            self._metrics,
            self.limits.seconds,
            room.leave,
            [AnswerProgress(chat, encode, index) for index in range(form.request.n)],
            form,
            self.report_answer,
        )

    def _prepare_chat(self, body: bytes, api: ServedApi) -> tuple[AnswerForm, PreparedChat]:
        value = json_object(body)
        request = api.read(value)
        # Before rendering, which is the expensive part.
        self.backend.check(request)
        form = api.form(request, value, self.model)
        return form, self.preparer.prepare(request)

    async def _body(self, request: Request) -> bytes:
        """Read a request's body. Raises ChatError if it is too large, too late, or cut off."""
        taken, length = bytearray(), 0
        if self._bodies >= self.limits.requests + BESIDE:
            words = f"too many requests arriving ({self._bodies})"
            raise ChatError(words, ChatErrorKind.BUSY, hint="try again later")
        # Counted apart from chats, which begin only after their body has arrived.
        self._bodies += 1
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
                f"the body did not arrive within {self.limits.body_seconds:g} s",
                ChatErrorKind.SLOW_BODY,
            ) from None
        except ClientDisconnect:
            raise ChatError("the client disconnected", ChatErrorKind.SLOW_BODY) from None
        finally:
            self._bodies -= 1
        if length > self.limits.body:
            raise ChatError(
                f"the body is larger than {self.limits.body} bytes",
                ChatErrorKind.TOO_LARGE,
                hint="send less, or raise the server's --max-body",
            )
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # A page of any origin may send other types without asking.
        if kind != "application/json":
            words = f"unsupported Content-Type: {one_line(kind, 100) or 'none'}"
            hint = "send Content-Type: application/json"
            raise ChatError(words, ChatErrorKind.NOT_JSON, hint=hint)
        return bytes(taken)

    async def _complete(self, request: Request) -> ASGIApp:
        """Forward a completion unchanged: nothing is rendered, constrained or parsed."""
        room = _Room(self)
        try:
            body = json_object(await self._body(request))
            room.enter(1)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error
            return error_response(as_chat_error(error))
        # The client knows this server's name of the model, the backend its own.
        asked = {**body, "model": self.backend.model} if self.backend.model else body
        return PassedAnswer(
            self.backend, self._metrics, self.limits.seconds, room.leave, asked, self.model
        )

    async def _tokenize(self, request: Request) -> Response:
        async def tokens(value: dict[str, Any]) -> Json:
            text = value.get("prompt", value.get("content"))
            if "messages" in value:
                ids = await self._prompt_ids(chat_request(value))
            elif isinstance(text, str):
                ids = await self._ids(text)
            else:
                raise ChatError("missing prompt", place="prompt", hint="pass prompt or messages")
            return {"count": len(ids), "tokens": list(ids)}

        return await self._answer_directly(request, tokens, ChatForm)

    async def _count(self, request: Request) -> Response:
        async def count(value: dict[str, Any]) -> Json:
            return {"input_tokens": len(await self._prompt_ids(messages_request(value)))}

        return await self._answer_directly(request, count, MessagesForm)

    async def _answer_directly(
        self,
        request: Request,
        answer: Callable[[dict[str, Any]], Awaitable[Json]],
        form: type[AnswerForm],
    ) -> Response:
        """Answer a request that needs no generation."""
        room = _Room(self)
        try:
            body = await self._body(request)
            room.enter(1)
            return JSONResponse(await answer(json_object(body)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an error
            return error_response(as_chat_error(error), form.error_body)
        finally:
            room.leave()

    async def _prompt_ids(self, request: ChatRequest) -> Sequence[int]:
        chat = await anyio.to_thread.run_sync(self.preparer.prepare, request)
        return await self._ids(chat.prompt) if chat.prompt_ids is None else chat.prompt_ids

    async def _ids(self, text: str) -> Sequence[int]:
        ids = await anyio.to_thread.run_sync(self.preparer.encode, text)
        return await self.backend.tokens(text) if ids is None else ids

    async def _props(self, _: Request) -> Response:
        return JSONResponse({"model_alias": self.model, **self.preparer.properties()})

    async def _models(self, _: Request) -> Response:
        model = {"id": self.model, "object": "model", "owned_by": "autoparser"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _health(self, _: Request) -> Response:
        well = await self.backend.healthy()
        return JSONResponse(
            {"status": "ok" if well else "the backend does not respond"}, 200 if well else 503
        )

    async def _answer_metrics(self, _: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _adapt_endpoint(
    answer: Callable[[Request], Awaitable[ASGIApp]],
) -> Callable[[Request], Awaitable[Response]]:
    """Adapt an endpoint for Starlette, which calls whatever ASGI application it returns."""

    async def respond(request: Request) -> Response:
        return cast("Response", await answer(request))

    return respond


async def _not_here(request: Request, error: Exception) -> Response:
    words = f"unknown endpoint {request.method} {request.url.path}"
    method = isinstance(error, HTTPException) and error.status_code == ChatErrorKind.METHOD.status
    kind = ChatErrorKind.METHOD if method else ChatErrorKind.ABSENT
    hint = "use POST /v1/chat/completions"
    return error_response(ChatError(one_line(words, 300), kind, hint=hint))


async def _internal_error(_: Request, __: Exception) -> Response:
    # The server logs it, since the caller raises it again.
    return error_response(ChatError("internal server error", ChatErrorKind.INTERNAL))


LARGE_BODY = 1_000_000
"""Bytes of a body after whose answer the freed memory is given back."""
GIVING_BACK = 0.5
"""Seconds after the end of such an answer, when nothing holds its prompt any more."""


def return_memory() -> None:
    """Return freed memory to the system: glibc keeps the gigabyte of a prompt of 7 MB."""
    # The error of a failed chat and the frames that hold its prompt refer to each other.
    gc.collect()
    with contextlib.suppress(TypeError, AttributeError, OSError):  # other systems give it back
        ctypes.CDLL(None).malloc_trim(0)


class _Room:
    """The share of an endpoint's capacity that one request occupies."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        self._endpoint = endpoint
        self._taken = 0
        self.body = 0
        """Bytes of the request's body, once they are known."""

    def enter(self, places: int) -> None:
        """Occupy more of the capacity. Raises ChatError if too many chats are running."""
        running, limits = self._endpoint.running, self._endpoint.limits
        if places and running >= limits.requests:
            words = f"too many chats in progress ({running})"
            raise ChatError(words, ChatErrorKind.BUSY, hint="try again later")
        self._taken += places
        self._endpoint.count_running(places)

    def leave(self) -> None:
        """Release the capacity, and after a large body the memory, too."""
        self._endpoint.count_running(-self._taken)
        self._taken = 0
        if self.body > LARGE_BODY:
            loop = asyncio.get_running_loop()
            # In a thread, since collecting garbage would keep all answers waiting.
            loop.call_later(GIVING_BACK, loop.run_in_executor, None, return_memory)


class KeyGuard:
    """Passes on requests that have the server's key, and health checks."""

    def __init__(self, application: ASGIApp, key: str) -> None:
        """Wrap an application."""
        self._application = application
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it if its API key is missing or invalid."""
        # Health checks need no key.
        if scope["type"] != "http" or scope["path"] == "/health" or self._has_key(scope):
            await self._application(scope, receive, send)
            return
        error = ChatError("missing or invalid API key", ChatErrorKind.LOCKED)
        error.hint = "send Authorization: Bearer KEY"
        await error_response(error)(scope, receive, send)

    def _has_key(self, scope: Scope) -> bool:
        given = [
            value if name == b"x-api-key" else value.partition(b" ")[2].strip()
            for name, value in scope["headers"]
            if name in (b"authorization", b"x-api-key")
        ]
        # Compare in constant time: timing would let an attacker guess the key letter by letter.
        return any(compare_digest(key, self._key) for key in given)
