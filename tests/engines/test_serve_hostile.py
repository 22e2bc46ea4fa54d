"""Hostile requests and backends: each gets its status, and others are not affected."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import pytest

from autoparser.analysis.engines import bounded_server
from autoparser.analysis.engines.chat_application import APIS
from autoparser.analysis.engines.chat_preparer import ChatPreparer
from tests.fixture_analyses import analyzed

from .asked_serve import BODY, EVENT, LAST, TEMPLATE
from .chats import parrot
from .running_serve import RunningServe, running_backend, running_serve, talking

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LATE = 1.0
"""Seconds that the head of a request may take here."""
HELLO = {"role": "user", "content": "Hello."}


@pytest.fixture(scope="module")
def url() -> Generator[RunningServe]:
    late = mock.patch.object(bounded_server, "HEAD_SECONDS", LATE)
    preparer = ChatPreparer(analyzed(TEMPLATE), tokenizer=parrot().tokenizer)
    with (
        late,
        running_backend(talking([EVENT, LAST, b""])) as behind,
        running_serve(preparer, behind.url) as running,
    ):
        yield running


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 10)


def is_well(url: str) -> bool:
    answer = httpx2.post(f"{url}/v1/chat/completions", json=BODY, timeout=10)
    return httpx2.get(f"{url}/health").is_success and answer.is_success


def chat(**fields: Any) -> bytes:
    return json.dumps({**BODY, **fields}).encode()


FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
LARGE: dict[str, tuple[bytes, int]] = {
    "20,000 tools": (chat(tools=[FUNCTION] * 20_000), 413),
    "9 MB": (chat(messages=[{"role": "user", "content": "x" * 9_000_000}]), 413),
    "7 MB": (chat(messages=[{"role": "user", "content": "word " * 1_400_000}]), 200),
    "a hundred thousand messages": (chat(messages=[HELLO] * 100_000), 200),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("path", APIS)
def test_large_body_is_one_error_within_bounds(url: str, name: str, path: str) -> None:
    body, status = LARGE[name]
    headers = {"Content-Type": "application/json"}
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx2.post, url + path, content=body, headers=headers, timeout=30)
        answered = 0
        while not asked.done():
            assert httpx2.get(f"{url}/health", timeout=30).is_success
            answered += 1
            time.sleep(0.05)
        answer = asked.result()
    # A server that answers in sequence manages two: one before the body arrives, and one after it.
    assert answered > 3 or not answer.is_success, "others waited"
    if path == "/v1/chat/completions":
        assert answer.status_code == status, answer.text[:300]
    assert answer.status_code in (200, 400, 413), answer.text[:300]
    if not answer.is_success:
        assert len(answer.json()["error"]["message"]) < 1000


SLOW = pytest.mark.slow


def resident() -> int:
    """Return the memory of this process that is in use, in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() // 1_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say it")
@pytest.mark.parametrize(
    ("talk", "status"), [([EVENT, LAST, b""], 200), pytest.param([EVENT], 502, marks=SLOW)]
)
def test_memory_of_a_7_mb_prompt_is_released(talk: list[bytes], status: int) -> None:
    preparer = ChatPreparer(analyzed(TEMPLATE), tokenizer=parrot().tokenizer)
    body, _ = LARGE["7 MB"]
    headers = {"Content-Type": "application/json"}
    with (
        running_backend(talking([EVENT, LAST, b""], talk)) as behind,
        running_serve(preparer, behind.url) as url,
    ):
        assert is_well(url)
        before = resident()
        answer = httpx2.post(
            f"{url}/v1/chat/completions", content=body, headers=headers, timeout=60
        )
        assert answer.status_code == status
        until = time.monotonic() + 20
        while (left := resident() - before) > 150 and time.monotonic() < until:
            time.sleep(0.2)
    assert left < 150, f"{left} MB are left"


RAW: dict[str, tuple[bytes, int]] = {
    "no HTTP": (b"hello\r\n\r\n", 400),
    "a head that does not end": (b"GET /health HTTP/1.1\r\nHost: x\r\n", 408),
    "a head of 200 kB": (b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000, 400),
    "nothing at all": (b"", 408),
    "another method": (b"PUT /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 405),
    "another path": (b"GET /../../etc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
}


@pytest.mark.parametrize(("sent", "status"), RAW.values(), ids=RAW)
def test_hostile_request_head_is_one_error(url: str, sent: bytes, status: int) -> None:
    with connected(url) as connection:
        connection.sendall(sent)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


def test_400_unfinished_heads_block_no_other_client(url: str) -> None:
    with ExitStack() as opened:
        heads = [opened.enter_context(connected(url)) for _ in range(400)]
        for head in heads:
            head.sendall(b"GET /health HTTP/1.1\r\nX: ")
        assert is_well(url)
        until = time.monotonic() + 5 * LATE
        open_ = set(heads)
        while open_ and time.monotonic() < until:
            for client in list(open_):
                try:
                    # A dripping client does not extend the deadline.
                    client.sendall(b"x")
                except OSError:
                    open_.discard(client)
            time.sleep(0.1)
        assert not open_
        assert is_well(url)


@pytest.mark.parametrize("between", [b"", b'"}\n\ndata: {"content": "'])
def test_backend_response_of_400_mb_is_one_error_in_bounded_memory(between: bytes) -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        yield b'data: {"content": "'
        for _ in range(400):
            yield b"x" * 1_000_000 + between
            sent += 1

    with (
        running_backend(talking(pieces())) as behind,
        running_serve(analyzed(TEMPLATE), behind.url) as url,
    ):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        answer = httpx2.post(f"{url}/v1/chat/completions", json=BODY, timeout=30)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert answer.status_code == 502
    assert answer.json()["error"]["message"] == "the backend's response is larger than 32 MB"
    assert sent < 50
    assert grown < 300_000, f"{grown} kB"


def test_slow_backend_gets_64_concurrent_streams() -> None:
    def asked(url: str) -> str:
        body = {**BODY, "stream": True}
        answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=60)
        return answer.text.strip().rpartition("\n")[2]

    with (
        running_backend(talking([EVENT, LAST, b""]), pause=0.1) as behind,
        running_serve(analyzed(TEMPLATE), behind.url) as url,
        ThreadPoolExecutor(64) as pool,
    ):
        assert list(pool.map(asked, [url] * 64)) == ["data: [DONE]"] * 64
