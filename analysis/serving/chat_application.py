"""The endpoint as an application of ASGI: it needs the packages of the extra `serve`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from autoparser.analysis.core.errors import AutoparserError

from .chat_answer import AnsweredChat, ChatAnswer, Writing, error_response
from .chat_completion import CompletionForm
from .chat_error import ChatError, ChatErrorKind, as_chat_error
from .chat_preparer import ChatPreparer
from .chat_request import chat_request
from .completion_backend import CompletionBackend
from .serve_metrics import METRICS_TYPE, ServeMetrics
from .serving_limits import ServingLimits

LINGERING = 8
"""A body may be this many times as large as is taken: it is read and forgotten, since a client
whose body nobody reads never sees the error."""


class ChatEndpoint:
    """Answers chats by one backend; it keeps nothing from one request to the next."""

    def __init__(
        self,
        preparer: ChatPreparer,
        backend: CompletionBackend,
        *,
        model: str,
        limits: ServingLimits | None = None,
        done: Callable[[AnsweredChat], None] | None = None,
    ) -> None:
        """Serve a template's model by a name; `done` is told of each chat that was answered."""
        self._preparer = preparer
        self._backend = backend
        self._model = model
        self._limits = limits or ServingLimits()
        self._done = done
        self._metrics = ServeMetrics()
        self._running = 0

    def application(self) -> Starlette:
        """Return the application; it closes the backend's connections when it ends."""
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
        await self._backend.close()

    async def _chat(self, request: Request) -> Response:
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
        """Begin a chat. Raises ChatError where there are too many."""
        if self._running >= self._limits.requests:
            words = f"{self._running} chats are being answered"
            raise ChatError(words, ChatErrorKind.BUSY, hint="try again")
        self._running += 1
        self._metrics.running.set(self._running)

    def _leave(self) -> None:
        self._running -= 1
        self._metrics.running.set(self._running)

    def _refused(self, error: ChatError) -> Response:
        self._metrics.answered(error.kind.status, 0, 0, 0)
        return error_response(error)

    async def _prepared(self, body: bytes) -> ChatAnswer:
        given = chat_request(body)
        with self._metrics.preparing.time():
            chat = await anyio.to_thread.run_sync(self._preparer.prepare, given)
        return ChatAnswer(
            Writing(chat, self._preparer.encode),
            self._backend,
            CompletionForm(given.model or self._model),
            self._metrics,
            seconds=self._limits.seconds,
            leave=self._leave,
            done=self._done,
        )

    async def _body(self, request: Request) -> bytes:
        """Read a request's body within its bounds. Raises ChatError."""
        taken, length = bytearray(), 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for piece in request.stream():
                    length += len(piece)
                    if length <= self._limits.body:
                        taken += piece
                    elif length > LINGERING * self._limits.body:
                        break
        except TimeoutError:
            raise ChatError(
                f"the body did not come within {self._limits.body_seconds:g} s",
                ChatErrorKind.SLOW_BODY,
            ) from None
        except ClientDisconnect:
            raise ChatError("the client hung up", ChatErrorKind.SLOW_BODY) from None
        if length > self._limits.body:
            raise ChatError(
                f"the body has more than {self._limits.body} bytes",
                ChatErrorKind.TOO_LARGE,
                hint="send less, or start the server with a larger --max-body",
            )
        return bytes(taken)

    async def _models(self, _: Request) -> Response:
        model = {"id": self._model, "object": "model", "owned_by": "autoparser"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _health(self, _: Request) -> Response:
        well = await self._backend.healthy()
        return JSONResponse(
            {"status": "ok" if well else "the backend does not answer"}, 200 if well else 503
        )

    async def _told_metrics(self, _: Request) -> Response:
        return Response(self._metrics.text(), media_type=METRICS_TYPE)


async def _not_here(request: Request, _: Exception) -> Response:
    words = f"there is nothing at {request.method} {request.url.path}"
    error = ChatError(words, hint="chats are answered at POST /v1/chat/completions")
    return JSONResponse(error.to_openai(), 404)
