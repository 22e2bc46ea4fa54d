"""Run the chat endpoint on uvicorn, with bounds on connections that send no request.

uvicorn waits for the head of a request as long as a client likes, and counts who waits among its
connections, so that a few hundred of them shut out everybody. Here a head has some seconds, and
where too many wait, the one that waits longest is closed; a client that is slow is never held
against another one. Anything that is not HTTP is refused with the same error object.

For example, a client sends one line and waits; ten seconds later it gets

    HTTP/1.1 408 Request Timeout
    {"error": {"message": "the request headers did not arrive within 10 s",
               "type": "invalid_request_error", "param": null, "code": null}}
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from .chat_request import ChatError, ChatErrorKind

HEAD_SECONDS = 10.0
"""Seconds within which the head of a request has to arrive."""
WAITING = 256
"""Most connections whose request head has not arrived; beyond them the oldest is closed."""
LINGER = 1.0
"""Seconds for which the rest of a refused request is read and discarded."""
GRACE = 10
"""Seconds for running chats to finish when the server is stopped."""


class BoundedProtocol(H11Protocol):
    """One connection, which is closed if the head of a request does not come in time."""

    waiting: ClassVar[dict[BoundedProtocol, None]]
    """The connections of a server that wait for a head, the oldest first."""
    _timer: asyncio.TimerHandle | None = None
    """Closes the connection when its time is over; None while it waits for nothing."""
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed bytes to the protocol; an incomplete head does not prolong the wait."""
        if self._refused:
            return
        super().data_received(data)
        # h11 leaves this state once the head is complete.
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._timer is None and not self._refused:
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not HTTP."""
        self._refuse(ChatError(msg), "400 Bad Request")

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._be_late)
        self.waiting[self] = None
        if len(self.waiting) > WAITING:
            # A dictionary keeps its order, so the first one has waited longest.
            next(iter(self.waiting)).give_up()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self.waiting.pop(self, None)

    def _be_late(self) -> None:
        words = f"the request headers did not arrive within {HEAD_SECONDS:g} s"
        self._refuse(ChatError(words, ChatErrorKind.SLOW_BODY), "408 Request Timeout")

    def give_up(self) -> None:
        """Close the connection because too many are waiting."""
        self._refuse(
            ChatError("too many requests are waiting", ChatErrorKind.BUSY),
            "503 Service Unavailable",
        )

    def _refuse(self, error: ChatError, status: str) -> None:
        self._stop_waiting()
        body = msgspec.json.encode(error.to_openai())
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        # Closing a connection with unread bytes resets it, and the client would not see the error.
        self._refused = True
        self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)


def bounded_server(application: ASGIApp) -> uvicorn.Server:
    """Return a server for an application; run it with the sockets that it listens at."""

    class OwnProtocol(BoundedProtocol):
        # A class attribute for each server: uvicorn creates the protocols with its own arguments.
        waiting: ClassVar[dict[BoundedProtocol, None]] = {}

    config = uvicorn.Config(
        application,
        http=OwnProtocol,
        ws="none",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=GRACE,
        server_header=False,
    )
    return uvicorn.Server(config)
