"""Run `autoparser serve` and a backend in threads, over real HTTP, for a `with` block."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autoparser import Analysis
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.bounded_server import bounded_server
from autoparser.analysis.engines.chat_application import ChatEndpoint
from autoparser.analysis.engines.chat_preparer import ChatPreparer
from autoparser.analysis.engines.chat_request import ServingLimits
from autoparser.analysis.engines.completion_backend import CompletionBackend

PATIENCE = 20.0
"""Seconds that it may take to begin and to end."""


class RunningServe(str):
    """The address of an endpoint that answers, and what runs in it."""

    __slots__ = ("loop",)
    loop: asyncio.AbstractEventLoop

    @property
    def tasks(self) -> int:
        """How many tasks there are in its loop."""
        return len(asyncio.all_tasks(self.loop))


@contextmanager
def running_serve(
    preparer: ChatPreparer | Analysis, backend: str, *, limits: ServingLimits | None = None
) -> Generator[RunningServe]:
    """Answer chats by a backend at this address; give the address of the endpoint."""
    if isinstance(preparer, Analysis):
        preparer = ChatPreparer(preparer)
    asked = CompletionBackend(backend, ServerEngine.LLAMA_SERVER)
    endpoint = ChatEndpoint(preparer, asked, "parrot", limits or ServingLimits())
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    running = RunningServe(f"http://127.0.0.1:{listening.getsockname()[1]}")
    server = bounded_server(endpoint.application())

    async def serving() -> None:
        running.loop = asyncio.get_running_loop()
        await server.serve([listening])

    thread = threading.Thread(target=asyncio.run, args=(serving(),))
    thread.start()
    until = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield running
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        assert not thread.is_alive()


@dataclass(frozen=True)
class Backend:
    """A server behind an endpoint."""

    url: str
    gone: threading.Event
    """Set once somebody has left before its answer's end."""


def talking(*talks: Iterable[bytes]) -> Callable[[str, object], Iterable[bytes] | None]:
    """Return a backend whose completions are these, in turn."""
    turns = itertools.cycle(talks)
    return lambda path, _: next(turns) if path == "/completion" else None


@contextmanager
def running_backend(
    answer: Callable[[str, Mapping[str, Any]], Iterable[bytes] | None], *, pause: float = 0.0
) -> Generator[Backend]:
    """Answer posts to a path in pieces; an empty piece ends the answer.

    It breaks off where that is missing, and has no such path where there are no pieces. Between
    connections it pauses.
    """
    gone = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.close_connection = True
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            pieces = answer(self.path, body)
            if pieces is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for piece in pieces:
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            except OSError:
                gone.set()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

        def process_request(self, *connection: Any) -> None:
            super().process_request(*connection)
            time.sleep(pause)

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield Backend(f"http://127.0.0.1:{server.server_port}", gone)
    server.shutdown()
    server.server_close()
