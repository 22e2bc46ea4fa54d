"""Check failures of clients and backends of `serve`: one clear error each, and no leaks.

Most tests call the ASGI application in this process with an ASGI backend. Failures of sockets (a
missing body, a client that hangs up) use a real server.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import pytest

from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.chat_application import APIS, AT_ONCE
from autoparser.analysis.engines.chat_preparer import ChatPreparer, PreparedChat
from autoparser.analysis.engines.chat_request import ChatError, ServingLimits, chat_request
from autoparser.analysis.engines.completion_backend import SHOWN, CompletionBackend
from tests.case_tables import case_tables
from tests.fixture_analyses import analyzed

from .asked_serve import (
    BODY,
    EVENT,
    FAILING,
    JSON,
    LAST,
    TEMPLATE,
    Pieces,
    Route,
    answered,
    events,
    refusing,
    strange,
    talk_of,
    whole,
    words,
)
from .running_serve import running_backend, running_serve, talking

pytestmark = pytest.mark.engine

table = case_tables(__file__, "serve_requests.yaml")


LATE = "timeout_error", "no answer within 0.2 s"
BROKEN = "backend_error", "the backend closed the connection before the end of its response"
ENDED = "backend_error", "the backend's response ended early"
REFUSED = "backend_error", "the backend rejected the request: no memory"
INVALID = "invalid_request_error", "the backend rejected the request: the prompt is too long"
DEEP = '{"a": ' * 5000 + "1" + "}" * 5000
NESTED_ANSWER = "backend_error", f"the backend rejected the request: {one_line(DEEP, SHOWN)}"


@pytest.mark.parametrize(
    ("talk", "status", "said"),
    [
        (talk_of(EVENT, breaks=True), 502, BROKEN),
        (talk_of(EVENT), 502, ENDED),
        (talk_of(EVENT, FAILING), 502, REFUSED),
        (refusing, 400, INVALID),
        (talk_of(f"data: {DEEP}\n\n".encode(), LAST), 502, NESTED_ANSWER),
        (talk_of(b"", LAST, wait=60), 504, LATE),
        (talk_of(*[EVENT] * 100, wait=0.01), 504, LATE),
    ],
)
def test_backend_failures_are_one_error(
    talk: Pieces | Route, status: int, said: tuple[str, str]
) -> None:
    limits = ServingLimits(seconds=0.2)
    answer, stream = answered(talk, BODY, {**BODY, "stream": True}, limits=limits)
    assert (answer.status_code, words(answer.text)) == (status, said)
    if stream.status_code == status:
        assert words(stream.text) == said
    else:
        # Part of the answer had arrived, so the error is the last event, and the stream has no end.
        assert stream.status_code == 200
        assert words(events(stream)[-1]) == said
        assert "[DONE]" not in stream.text


@pytest.mark.parametrize("talk", [whole, strange])
def test_events_end_only_at_line_feeds(talk: Pieces) -> None:
    (answer,) = answered(talk, BODY)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"


def test_backend_prefix_is_not_sent_with_the_prompt() -> None:
    asked: list[dict[str, Any]] = []
    answered(whole, BODY, asked=asked)
    assert asked[0]["prompt"].startswith("user\nHello.")


def test_prefix_of_64_concurrent_chats_is_requested_once() -> None:
    paths: list[str] = []

    def told(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        words = {"tokens": [1], "content": "<s>"}
        return httpx2.Response(200, json=words)

    async def opened(backend: CompletionBackend, chat: PreparedChat) -> None:
        async with backend.open_completion(chat):
            pass

    async def ask() -> None:
        mocked = partial(httpx2.AsyncClient, transport=httpx2.MockTransport(told))
        with mock.patch.object(httpx2, "AsyncClient", mocked):
            backend = CompletionBackend("http://backend", ServerEngine.LLAMA_SERVER)
        chat = ChatPreparer(analyzed(TEMPLATE)).prepare(chat_request(BODY))
        async with asyncio.TaskGroup() as group:
            for _ in range(64):
                group.create_task(opened(backend, chat))

    asyncio.run(ask())
    assert paths.count("/tokenize") == paths.count("/detokenize") == 1
    assert paths.count("/completion") == 64


def test_body_over_the_limit_is_one_error() -> None:
    limits = ServingLimits(body=1000)
    body = b'{"messages": [{"role": "user", "content": "' + b"x" * 1000 + b'"}]}'

    async def pieces() -> AsyncIterator[bytes]:
        yield body[:600]
        yield body[600:]

    *refused, fine = answered(whole, body, pieces(), BODY, limits=limits)
    assert fine.status_code == 200
    for answer in refused:
        kind, said = words(answer.text)
        assert (answer.status_code, kind) == (413, "invalid_request_error")
        assert said.startswith("the body is larger than 1000 bytes")


@table("refused")
def test_invalid_request_error_names_its_place(case: dict[str, Any]) -> None:
    body = {**BODY, **case["fields"]}
    found = {path: answered(whole, body, path=path)[0] for path in APIS}
    assert {answer_.status_code for answer_ in found.values()} <= {200, 400}
    answer = found["/v1/chat/completions"]
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert (error["param"] or "").startswith(case.get("param", ""))
    assert case.get("said", "") in error["message"]


NESTED = [
    b'{"messages": [{"role": "user", "content": ' + content + b"}]}"
    for content in (b"[" * 900 + b"]" * 900, b'{"a":' * 900 + b"1" + b"}" * 900, b'"\\ud800"')
]


@pytest.mark.parametrize("path", APIS)
def test_malformed_body_is_one_error(path: str) -> None:
    bodies = [b'{"messages": "\xff"}', b"[]", b"", b"{", b"[" * 1_000_000, *NESTED]
    for answer in answered(whole, *bodies, path=path):
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert set(error) == {"message", "type", "param", "code"}
        assert len(error["message"]) < 1000


@table("heads")
def test_content_type_and_api_key_are_checked(case: dict[str, Any]) -> None:
    key = {"api_key": case["key"]} if "key" in case else {}
    (answer,) = answered(whole, BODY, headers=case["headers"], **key)
    assert answer.status_code == case["status"]
    if not answer.is_success:
        assert words(answer.text)[0] == case["kind"]


def test_unexpected_exception_is_a_500_with_its_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = mock.patch.object(ChatPreparer, "encode", side_effect=KeyError("/root/secret"))
    with broken:
        (answer,) = answered(whole, BODY)
    error = {"message": "internal server error; see the server's log", "type": "server_error"}
    assert answer.json() == {"error": {**error, "param": None, "code": None}}
    assert answer.status_code == 500
    assert "KeyError: '/root/secret'" in caplog.text


def test_error_messages_hide_local_paths() -> None:
    here = str(Path(__file__).resolve())
    error = ChatError(f"cannot read {here}: see '{here}' or POST /v1/chat/completions")
    message = "cannot read test_serve_failures.py: see 'test_serve_failures.py' or"
    assert error.fields()["message"] == f"{message} POST /v1/chat/completions"


def test_other_origins_may_ask_only_if_allowed() -> None:
    page = {**JSON, "Origin": "http://page"}
    (shut,) = answered(whole, BODY, headers=page)
    (open_,) = answered(whole, BODY, headers=page, origins=("http://page",), api_key="")
    allowed = "access-control-allow-origin"
    assert (shut.headers.get(allowed), open_.headers[allowed]) == (None, "http://page")


def test_null_is_unset_and_unknown_fields_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[dict[str, Any]] = []
    unset = {"logprobs": False, **dict.fromkeys(("n", "stream", "parallel_tool_calls", "stop"))}
    strange = {**BODY, "temprature\n": 1, "store": True}
    answers = answered(whole, BODY, {**BODY, **unset}, strange, strange, asked=asked)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert asked == [asked[0]] * 4
    assert [record.message for record in caplog.records if record.name == "autoparser"] == [
        "ignored unsupported fields of a request: temprature\\n"
    ]


def test_reasoning_is_forced_only_for_constrained_answers() -> None:
    """The template's turns all begin with reasoning, which its prompt leaves to the model."""
    asked: list[dict[str, Any]] = []
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    auto = {**BODY, "tools": tools}
    schema = {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}
    promised = [{**auto, "tool_choice": "required"}, {**BODY, "response_format": schema}]
    answered(whole, auto, *promised, asked=asked, template="a2-key-value-tags")
    free, *forced = [entry["grammar"] for entry in asked]
    assert free.startswith('root ::= ("<think>"')
    assert all(grammar.startswith('root ::= "<think>') for grammar in forced)


def test_unreachable_backend_is_a_502_error() -> None:
    with running_serve(analyzed(TEMPLATE), "http://127.0.0.1:9") as url:
        answer = ask(url)
        assert answer.status_code == 502
        assert words(answer.text) == ("backend_error", "cannot connect to the backend")
        health = httpx2.get(f"{url}/health")
        assert (health.status_code, health.json()["status"]) == (
            503,
            "the backend does not respond",
        )
        lost = httpx2.get(f"{url}/nothing")
        assert lost.status_code == 404
        assert "unknown endpoint GET /nothing" in lost.json()["error"]["message"]


# Real sockets on both sides.


class Endless:
    """An endless answer of a backend, for every request."""

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield EVENT
            time.sleep(0.01)


def ask(url: str, **fields: object) -> httpx2.Response:
    return httpx2.post(f"{url}/v1/chat/completions", json={**BODY, **fields}, timeout=30)


@contextmanager
def begun_stream(url: str) -> Generator[None]:
    """Leave a stream that has begun at the end of the block."""
    asked = {**BODY, "stream": True}
    with httpx2.stream("POST", f"{url}/v1/chat/completions", json=asked, timeout=30) as answer:
        # If this iterator is dropped, it closes the stream.
        lines = answer.iter_lines()
        next(lines)
        yield


def hang_up(url: str) -> None:
    with begun_stream(url):
        pass


def give_up(url: str) -> None:
    """Leave before an answer that comes at once."""
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{url}/v1/chat/completions", json=BODY, timeout=0.5)


def metrics_at_rest(url: str) -> str:
    """Return the metrics once no answer is running."""
    until = time.monotonic() + 10
    while "autoparser_running 0.0" not in (told := httpx2.get(f"{url}/metrics").text):
        assert time.monotonic() < until, told
        time.sleep(0.02)
    return told


@pytest.mark.parametrize("leave", [hang_up, pytest.param(give_up, marks=pytest.mark.slow)])
def test_client_hangup_ends_the_completion(leave: Callable[[str], None]) -> None:
    with (
        running_backend(talking(Endless())) as behind,
        running_serve(analyzed(TEMPLATE), behind.url) as url,
    ):
        leave(url)
        assert behind.gone.wait(10)
        assert "autoparser_hangups_total 1.0" in metrics_at_rest(url)


def test_missing_body_times_out_with_one_error() -> None:
    limits = ServingLimits(body_seconds=0.2)
    with running_serve(analyzed(TEMPLATE), "http://127.0.0.1:9", limits=limits) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 10) as slow:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
            slow.sendall(head)
            assert slow.recv(65536).startswith(b"HTTP/1.1 408")


def test_few_chats_are_prepared_concurrently() -> None:
    prepare = ChatPreparer.prepare
    running, most, lock = 0, 0, threading.Lock()

    def counted(preparer: ChatPreparer, request: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        found = prepare(preparer, request)
        with lock:
            running -= 1
        return found

    with (
        running_backend(talking([EVENT, LAST, b""])) as behind,
        running_serve(analyzed(TEMPLATE), behind.url) as url,
        mock.patch.object(ChatPreparer, "prepare", counted),
        ThreadPoolExecutor(16) as pool,
    ):
        assert all(answer.is_success for answer in pool.map(ask, [url] * 16))
    assert most == AT_ONCE


def test_request_over_the_limit_gets_503_with_retry_after() -> None:
    limits = ServingLimits(requests=1, seconds=30)
    with (
        running_backend(talking(Endless())) as running,
        running_serve(analyzed(TEMPLATE), running.url, limits=limits) as url,
    ):
        with begun_stream(url):
            answer = ask(url)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert words(answer.text) == (
            "overloaded_error",
            "too many chats in progress (1); try again later",
        )
        metrics_at_rest(url)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list them")
def test_failed_and_abandoned_chats_leak_no_resources() -> None:
    talks = [[EVENT], [EVENT, FAILING, b""], [EVENT, LAST, b""], [EVENT, b""]]
    with (
        running_backend(talking(*talks, Endless())) as running,
        running_serve(analyzed(TEMPLATE), running.url, limits=ServingLimits(seconds=5)) as url,
    ):

        def ask_all() -> None:
            for _ in talks:
                ask(url, stream=True)
            hang_up(url)

        def left() -> tuple[int, int, int]:
            metrics_at_rest(url)
            opened = len(list(Path("/proc/self/fd").iterdir()))
            return opened, threading.active_count(), url.tasks

        ask_all()
        descriptors, threads, tasks = left()
        for _ in range(15):
            ask_all()
        until = time.monotonic() + 10
        while url.tasks > tasks + 1 and time.monotonic() < until:
            time.sleep(0.02)
        now = left()
        assert now[0] <= descriptors + 2
        assert now[1] <= threads + 1
        assert now[2] <= tasks + 1
