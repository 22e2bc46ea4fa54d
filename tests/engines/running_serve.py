"""`autoparser serve` in a thread, with real HTTP, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from autoparser import Analysis
from autoparser.analysis.decoding.answer_writers import ServerEngine
from autoparser.analysis.engines.bounded_server import bounded_server
from autoparser.analysis.engines.chat_application import AnsweredChat, ChatEndpoint
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
    preparer: ChatPreparer | Analysis,
    backend: str,
    *,
    limits: ServingLimits | None = None,
    done: Callable[[AnsweredChat], None] | None = None,
    engine: ServerEngine = ServerEngine.LLAMA_SERVER,
) -> Generator[RunningServe]:
    """Answer chats by a backend at this address; give the address of the endpoint."""
    if isinstance(preparer, Analysis):
        preparer = ChatPreparer(preparer)
    asked = CompletionBackend(backend, engine)
    endpoint = ChatEndpoint(preparer, asked, "parrot", limits or ServingLimits(), done)
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
