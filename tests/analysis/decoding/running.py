"""Run servers with `/v1/completions`, each in a thread of this process.

A server answers at random, held to the GBNF that it is sent by the real grammar backend.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import RandomSampler, masked_walk

from .tokenizers_here import small

CLOSERS = ("<tool>", "</tool>")
"""Fields of the fixture that the tests send."""
FIELDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "vllm": lambda body: str(body["structured_outputs"]["grammar"]),
    "sglang": lambda body: str(body["ebnf"]),
    "llama-server": lambda body: str(body["grammar"]),
}
BROKEN: dict[str, tuple[int, bytes]] = {
    "error": (400, json.dumps({"error": {"message": "no such model:\n 'x'"}}).encode()),
    "html": (200, b"<html>It works!</html>"),
    "empty": (200, b'{"choices": []}'),
}


@cache
def backend() -> GrammarBackend:
    return GrammarBackend(small())


@dataclass
class Running:
    """A server with its address and the requests that it received."""

    mode: str
    engine: str
    ended: Event = field(default_factory=Event)
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        self.requests.append({"path": path, **body})
        if self.mode == "hang":
            self.ended.wait(30)
        return BROKEN.get(self.mode) or (200, json.dumps(self.completion(body)).encode())

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.mode == "heedless":
            # A server that ignores constraints does not return its ids either.
            return {"choices": [{"index": 0, "text": "Hello.", "finish_reason": "stop"}]}
        state = backend().grammar(Constraint.ebnf(FIELDS[self.engine](body)))
        sampler = RandomSampler(backend().tokenizer, body["seed"], closers=CLOSERS)
        done = masked_walk(state, backend().tokenizer, sampler, body["max_tokens"])
        reason = "stop" if done.ended else "length"
        choice = {"index": 0, "text": done.text, "finish_reason": reason}
        return {"choices": [choice], "usage": {"completion_tokens": 9}}


Start = Callable[[str, str], Running]


def servers() -> Generator[Start]:
    """Start servers, and end them with the test."""
    running: list[tuple[Running, ThreadingHTTPServer]] = []

    def started(mode: str, engine: str = "vllm") -> Running:
        made = Running(mode, engine)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = made.answer(self.path, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}"
        running.append((made, server))
        return made

    yield started
    for made, server in running:
        made.ended.set()
        server.shutdown()
        server.server_close()
