"""What goes wrong before `serve` and behind it: one clear error each, and nothing is left over."""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from autoparser.analysis.engines.chat_request import ServingLimits

from .chats import analysis_of
from .running_serve import running_serve

pytestmark = pytest.mark.engine

TEMPLATE = "j1-json-in-tags"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello."}]}
EVENT = b'data: {"content": "Hi", "tokens": [1], "stop": false}\n\n'
LAST = b'data: {"content": "", "stop": true, "stop_type": "eos", "tokens_predicted": 1}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

Talk = Callable[[socket.socket], None]


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Backend:
    """A server whose every answer to a completion is one talk over its socket."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.gone = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += (came := connection.recv(65536))
                if not came:
                    return
            if not asked.startswith(b"POST /completion"):
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                return
            try:
                self.talk(connection)
            except OSError:
                self.gone.set()

    def close(self) -> None:
        self._listening.close()


@contextmanager
def backend(talk: Talk) -> Generator[Backend]:
    running = Backend(talk)
    yield running
    running.close()


def whole(connection: socket.socket) -> None:
    connection.sendall(HEAD + chunk(EVENT) + chunk(LAST) + chunk(b""))


def strange(connection: socket.socket) -> None:
    # In pieces that end in the middle of a character, with what other readers take for line ends.
    said = EVENT.replace(b"\n\n", b"\r\n\r\n").replace(b"{", '{"more": "\u2028\x85 é",'.encode(), 1)
    connection.sendall(HEAD + b"".join(chunk(bytes([byte])) for byte in said))
    connection.sendall(chunk(LAST) + chunk(b""))


def dying(connection: socket.socket) -> None:
    connection.sendall(HEAD + chunk(EVENT))


def unfinished(connection: socket.socket) -> None:
    connection.sendall(HEAD + chunk(EVENT) + chunk(b""))


def endless(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    while True:
        connection.sendall(chunk(EVENT))
        time.sleep(0.01)


def refusing(connection: socket.socket) -> None:
    said = json.dumps({"error": {"message": "the prompt is too long"}}).encode()
    connection.sendall(b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n" % len(said) + said)


def failing(connection: socket.socket) -> None:
    said = b'data: {"error": {"code": 500, "message": "no memory"}}\n\n'
    connection.sendall(HEAD + chunk(EVENT) + chunk(said) + chunk(b""))


def silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def ask(url: str, **fields: object) -> httpx2.Response:
    return httpx2.post(f"{url}/v1/chat/completions", json={**BODY, **fields}, timeout=30)


def events(answer: httpx2.Response) -> list[str]:
    return [line.removeprefix("data: ") for line in answer.text.split("\n") if line]


def words(text: str) -> tuple[str, str]:
    error = json.loads(text)["error"]
    return error["type"], error["message"]


@pytest.mark.parametrize(
    ("talk", "status", "said"),
    [
        (dying, 502, ("backend_error", "the backend broke off in the middle of its answer")),
        (unfinished, 502, ("backend_error", "the backend ended its answer in the middle")),
        (failing, 502, ("backend_error", "the backend refuses: no memory")),
        (refusing, 400, ("invalid_request_error", "the backend refuses: the prompt is too long")),
        (silent, 504, ("timeout_error", "there is no answer within 1 s")),
        (endless, 504, ("timeout_error", "there is no answer within 1 s")),
    ],
)
def test_what_a_backend_does_wrong_is_one_error(
    talk: Talk, status: int, said: tuple[str, str]
) -> None:
    limits = ServingLimits(seconds=1)
    with (
        backend(talk) as running,
        running_serve(analysis_of(TEMPLATE), running.url, limits=limits) as url,
    ):
        answer = ask(url)
        assert (answer.status_code, words(answer.text)) == (status, said)
        stream = ask(url, stream=True)
        if stream.status_code == status:
            assert words(stream.text) == said
        else:
            # Some of it had come, so the error is the last event, and the stream has no end.
            assert stream.status_code == 200
            assert words(events(stream)[-1]) == said
            assert "[DONE]" not in stream.text


@pytest.mark.parametrize("talk", [whole, strange])
def test_an_event_ends_at_a_line_feed_alone(talk: Talk) -> None:
    with backend(talk) as running, running_serve(analysis_of(TEMPLATE), running.url) as url:
        answer = ask(url)
        assert answer.status_code == 200, answer.text
        assert answer.json()["choices"][0]["message"]["content"] == "Hi"


def test_no_backend_is_one_error() -> None:
    with running_serve(analysis_of(TEMPLATE), "http://127.0.0.1:9") as url:
        answer = ask(url)
        assert answer.status_code == 502
        assert words(answer.text) == ("backend_error", "the backend cannot be reached")
        health = httpx2.get(f"{url}/health")
        assert (health.status_code, health.json()["status"]) == (503, "the backend does not answer")


def hang_up(url: str) -> None:
    """Leave a stream after its first event."""
    asked = {**BODY, "stream": True}
    with httpx2.stream("POST", f"{url}/v1/chat/completions", json=asked, timeout=30) as answer:
        next(answer.iter_lines())


def give_up(url: str) -> None:
    """Leave before an answer that comes at once."""
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{url}/v1/chat/completions", json=BODY, timeout=1)


@pytest.mark.parametrize("leave", [hang_up, give_up])
def test_a_client_that_leaves_ends_the_completion(leave: Callable[[str], None]) -> None:
    with backend(endless) as running, running_serve(analysis_of(TEMPLATE), running.url) as url:
        leave(url)
        assert running.gone.wait(10)
        assert "autoparser_hangups_total 1.0" in metrics(url, "autoparser_running 0.0")


def metrics(url: str, wanted: str) -> str:
    """Return the metrics once they hold something, or as they are in the end."""
    until = time.monotonic() + 10
    while True:
        told = httpx2.get(f"{url}/metrics").text
        if wanted in told or time.monotonic() > until:
            assert wanted in told
            return told
        time.sleep(0.02)


def test_a_body_beyond_the_limit_is_one_error() -> None:
    with backend(whole) as running, running_serve(analysis_of(TEMPLATE), running.url) as url:
        body = b'{"messages": [{"role": "user", "content": "' + b"x" * 9_000_000 + b'"}]}'
        for sent in (body, iter([body[:4_500_000], body[4_500_000:]])):
            answer = httpx2.post(f"{url}/v1/chat/completions", content=sent, timeout=60)
            assert answer.status_code == 413
            kind, said = words(answer.text)
            assert kind == "invalid_request_error"
            assert said.startswith("the body has more than 8000000 bytes")
        assert ask(url).status_code == 200


def test_a_body_that_does_not_come_is_one_error() -> None:
    limits = ServingLimits(body_seconds=0.5)
    with (
        backend(whole) as running,
        running_serve(analysis_of(TEMPLATE), running.url, limits=limits) as url,
    ):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 10) as slow:
            slow.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
            )
            assert slow.recv(65536).startswith(b"HTTP/1.1 408")


def test_one_chat_too_many_is_told_to_come_back() -> None:
    limits = ServingLimits(requests=1, seconds=30)
    with (
        backend(endless) as running,
        running_serve(analysis_of(TEMPLATE), running.url, limits=limits) as url,
    ):
        asked = {**BODY, "stream": True}
        with httpx2.stream("POST", f"{url}/v1/chat/completions", json=asked) as first:
            lines = first.iter_lines()
            next(lines)
            answer = ask(url)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert words(answer.text) == ("overloaded_error", "1 chats are being answered; try again")
        metrics(url, "autoparser_running 0.0")


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        ({"messages": []}, "messages", ""),
        ({"messages": [{"content": "x"}]}, "messages[0]", "role"),
        ({"temprature": 1}, None, "temperature"),
        ({"n": 2}, "n", ""),
        ({"tools": [{"type": "function"}]}, "tools[0]", ""),
        ({"tool_choice": "nobody"}, None, "nobody"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "schema"),
        ({"continues": {"prompt_token_ids": [1], "token_ids": [2]}}, "continues", "--tokenizer"),
    ],
)
def test_a_request_that_makes_no_sense_names_its_place(
    fields: dict[str, object], place: str | None, said: str
) -> None:
    with backend(whole) as running, running_serve(analysis_of(TEMPLATE), running.url) as url:
        answer = ask(url, **fields)
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert place is None or error["param"].startswith(place)
        assert said in error["message"]


def descriptors() -> int:
    return len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list them")
def test_nothing_is_left_of_failed_chats() -> None:
    talks = itertools.cycle([dying, failing, whole, refusing, unfinished])

    def in_turn(connection: socket.socket) -> None:
        next(talks)(connection)

    limits = ServingLimits(seconds=5)
    with (
        backend(in_turn) as running,
        running_serve(analysis_of(TEMPLATE), running.url, limits=limits) as url,
    ):
        for _ in range(5):
            ask(url, stream=True)
        before, threads = descriptors(), threading.active_count()
        for _ in range(30):
            ask(url, stream=True)
        metrics(url, "autoparser_running 0.0")
        assert descriptors() <= before + 2
        assert threading.active_count() <= threads + 1


def test_no_task_is_left_of_clients_that_hung_up() -> None:
    with backend(endless) as running, running_serve(analysis_of(TEMPLATE), running.url) as url:
        ask(url, max_tokens=0)
        before = url.tasks
        for _ in range(20):
            hang_up(url)
        metrics(url, "autoparser_running 0.0")
        until = time.monotonic() + 10
        while url.tasks > before + 1 and time.monotonic() < until:
            time.sleep(0.02)
        assert url.tasks <= before + 1
