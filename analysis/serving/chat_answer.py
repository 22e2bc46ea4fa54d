"""One chat, answered: from the prepared request to the last byte that its client gets.

All of it happens in one task, whose end closes the connection to the backend: when the answer is
whole, when the client hangs up, when time is over, when the backend fails. Nothing is left running.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio
import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.reading.parsing import StreamParser

from .chat_completion import LAST_EVENT, CompletionForm, error_event
from .chat_error import ChatError, ChatErrorKind
from .chat_preparer import PreparedChat
from .completion_backend import CompletionBackend
from .completion_events import CompletionEnd, CompletionPiece
from .serve_metrics import ServeMetrics


@dataclass(frozen=True, slots=True)
class AnsweredChat:
    """What a backend was given and has written, for whoever keeps a log of it."""

    prompt: str
    completion: str
    prompt_token_ids: tuple[int, ...] | None
    token_ids: tuple[int, ...] | None


class Writing:
    """What a backend writes, as far as it has come."""

    def __init__(self, chat: PreparedChat, encode: Callable[[str], tuple[int, ...] | None]) -> None:
        """Read with the parser of the chat; `encode` cuts a text into the model's tokens."""
        self.chat = chat
        self.stream: StreamParser = chat.parser.stream()
        self.end = CompletionEnd("stop")
        self._encode = encode
        self._texts: list[str] = []
        self._ids: list[int] = []

    def take(self, piece: CompletionPiece) -> None:
        """Keep what came."""
        self._texts.append(piece.text)
        self._ids.extend(piece.ids)
        self.end = piece.end or self.end

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self._texts)

    @property
    def ids(self) -> tuple[int, ...] | None:
        """All that was written, in ids; None where they are not known for certain.

        A stream of llama-server leaves out the ids of characters that took several tokens. The text
        cut anew stands for them where it has as many tokens as were written.
        """
        for found in (tuple(self._ids), self._encode(self.text)):
            if found and len(found) == self.end.completion_tokens:
                return found
        return None

    def beside(self) -> dict[str, Json]:
        """Return what a request for ids gets beside its message."""
        chat, told = self.chat, dict[str, Json]()
        if chat.request.return_token_ids:
            told["prompt_token_ids"] = None if chat.prompt_ids is None else list(chat.prompt_ids)
            told["token_ids"] = None if self.ids is None else list(self.ids)
        if chat.bridged is not None:
            told["bridge"] = chat.bridged or "the prompt begins with the earlier turn's ids"
        return told

    def answered(self) -> AnsweredChat:
        """Return what went to the backend and came from it."""
        return AnsweredChat(self.chat.prompt, self.text, self.chat.prompt_ids, self.ids)


class ChatAnswer(Response):
    """The answer to one chat, as a response of ASGI."""

    def __init__(
        self,
        writing: Writing,
        backend: CompletionBackend,
        form: CompletionForm,
        metrics: ServeMetrics,
        *,
        seconds: float,
        leave: Callable[[], None],
        done: Callable[[AnsweredChat], None] | None = None,
    ) -> None:
        """Answer by a backend within some seconds.

        `leave` is called when it is over, however; `done` is told of a chat that came to its end.
        """
        super().__init__()
        self._writing = writing
        self._backend = backend
        self._form = form
        self._metrics = metrics
        self._seconds = seconds
        self._leave = leave
        self._done = done
        self._sent_all = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or stop where the client has hung up."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._until_gone, receive, group.cancel_scope)
                await self._answer(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            self._leave()

    async def _until_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        # A server says so, too, when all was sent.
        if not self._sent_all:
            self._metrics.gone()
            scope.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            self._sent_all = message.get("more_body") is False
            await send(message)

        try:
            async with asyncio.timeout(self._seconds):
                await self._ask(sending)
        except TimeoutError:
            error = ChatError(f"there is no answer within {self._seconds:g} s", ChatErrorKind.LATE)
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
        async with self._backend.asked(self._writing.chat) as pieces:
            if self._writing.chat.request.stream:
                await self._stream(pieces, send)
            else:
                await self._whole(pieces, send)

    async def _whole(self, pieces: AsyncIterator[CompletionPiece], send: Send) -> None:
        writing = self._writing
        async for piece in pieces:
            writing.take(piece)
        stream = writing.stream
        stream.feed(writing.text)
        stream.finish(complete=writing.end.reason == "stop")
        told = self._form.whole(stream.message, writing.end, writing.beside())
        body = msgspec.json.encode(told)
        await send(_head("application/json", len(body)))
        await send(_body(body, more=False))

    async def _stream(self, pieces: AsyncIterator[CompletionPiece], send: Send) -> None:
        writing, request = self._writing, self._writing.chat.request
        await send(_head("text/event-stream; charset=utf-8"))
        await send(_body(self._form.opening()))
        async for piece in pieces:
            writing.take(piece)
            deltas = writing.stream.feed(piece.text)
            if piece.end is not None:
                deltas += writing.stream.finish(complete=piece.end.reason == "stop")
            if deltas:
                await send(_body(self._form.events(deltas)))
        beside = writing.beside()
        options = request.stream_options
        last = b""
        if beside or (options is not None and options.include_usage):
            last = self._form.last(writing.end, beside)
        await send(_body(last + LAST_EVENT, more=False))

    def _finished(self, status: int) -> None:
        end = self._writing.end
        self._metrics.answered(status, end.prompt_tokens, end.cached_tokens, end.completion_tokens)
        if status == 200 and self._done is not None:  # noqa: PLR2004 - OK
            self._done(self._writing.answered())


def error_response(error: ChatError) -> Response:
    """Return an answer that is an error alone."""
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
