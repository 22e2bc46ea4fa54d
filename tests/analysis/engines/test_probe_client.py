"""What makes an address no server to probe, each with a way out."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2
import pytest

from autoparser import ChatTemplate
from autoparser.analysis.engines.engine_server import ProbeClient, ProbeError, checked_address
from autoparser.analysis.engines.server_probe import server_at

from .engine_stub import Answer, EngineStub, answering

TEMPLATE = ChatTemplate("{{ messages[0].content }}")


def complaint(stub: EngineStub, *, key: str = "", model: str = "", timeout: float = 0.3) -> str:
    with answering(stub), ProbeClient(stub.url, timeout=timeout, key=key) as client:
        with pytest.raises(ProbeError) as caught:
            server_at(client, model)
        return str(caught.value).removeprefix(stub.url)


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (200, "<html>hello</html>", "answers with no list of models (200): <html>"),
        (200, {"data": []}, "answers with no list of models (200)"),
        (200, {"data": "none"}, "answers with no list of models"),
        (200, '{"data": [', "answers with no list of models"),
        (500, "oh", "answers with no list of models (500): oh"),
        (404, {"detail": "Not Found"}, "answers with no list of models (404)"),
        (401, {"error": "no"}, "wants a key (401); give it with --api-key"),
        (403, "", "wants a key (403)"),
        (307, "http://198.51.100.7/v1/models", "sends one on to http://198.51.100.7/v1/models"),
        (200, {"data": [{"id": "m"}]}, "is none of the engines that a probe knows"),
        (200, {"data": [{"id": "m", "owned_by": "a proxy"}]}, "owned by 'a proxy'"),
        (200, {"data": [{"id": "m\x1b[2J", "owned_by": "\x1b[2J"}]}, "owned by '\\x1b[2J'"),
    ],
)
def test_what_is_no_engine_is_an_error(status: int, said: object, words: str) -> None:
    answer: Answer = (status, said)
    stub = EngineStub("?", TEMPLATE)
    stub.routes["/v1/models"] = lambda _: answer
    told = complaint(stub)
    assert words in told
    assert "; " in told, "there is a way out"


def test_a_redirect_is_not_followed() -> None:
    with answering(EngineStub("vllm", TEMPLATE)) as other:
        stub = EngineStub("?", TEMPLATE)
        stub.routes["/v1/models"] = lambda _: (302, f"{other.url}/v1/models")
        assert "is not followed" in complaint(stub)
        assert other.asked == []


def test_a_model_that_it_does_not_serve_is_an_error() -> None:
    assert "serves no model 'other'; it serves m" in complaint(
        EngineStub("vllm", TEMPLATE), model="other"
    )


def test_a_key_is_sent_and_never_told() -> None:
    stub = EngineStub("?", TEMPLATE)
    assert "secret" not in complaint(stub, key="secret")
    assert stub.headers["authorization"] == "Bearer secret"


def test_a_server_that_hangs_is_left() -> None:
    stub = EngineStub("vllm", TEMPLATE)

    def slow(_: object) -> Answer:
        raise httpx2.ReadTimeout("")

    stub.routes["/v1/models"] = slow
    assert "does not answer within 0.3 seconds; see whether it hangs" in complaint(stub)


def test_a_server_that_drips_is_left() -> None:
    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.02)
            yield b" "

    stub = EngineStub("vllm", TEMPLATE)
    stub.routes["/v1/models"] = lambda _: (200, drip())
    assert "does not answer within 0.3 seconds" in complaint(stub)


def test_an_answer_without_end_is_left() -> None:
    stub = EngineStub("vllm", TEMPLATE)
    stub.routes["/v1/models"] = lambda _: (200, (b"x" * 1_000_000 for _ in range(99)))
    assert "/v1/models answers with more than 32 MB" in complaint(stub, timeout=60)


def test_nothing_that_listens_is_an_error() -> None:
    with (
        ProbeClient("http://127.0.0.1:1", timeout=1) as client,
        pytest.raises(ProbeError, match=r"cannot be reached.*start the server"),
    ):
        server_at(client)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "::", "file:///etc/passwd"])
def test_what_is_no_address_is_an_error(url: str) -> None:
    with pytest.raises(ProbeError, match="not a server's address"):
        checked_address(url, anywhere=True)


@pytest.mark.parametrize("word", ["notaurl", "model.jinja", "fixtures/templates"])
def test_what_is_no_url_is_not_taken_for_another_machine(word: str) -> None:
    for anywhere in (False, True):
        with pytest.raises(ProbeError, match="this is not a URL; give http"):
            checked_address(word, anywhere=anywhere)


@pytest.mark.parametrize(
    "host", ["198.51.100.7", "example.org", "10.0.0.1", "127.0.0.1.example.org", "[2001:db8::1]"]
)
def test_another_machine_is_asked_only_where_that_is_said(host: str) -> None:
    url = f"http://{host}:8000"
    with pytest.raises(ProbeError, match=r"not an address of this machine.*--yes"):
        checked_address(url, anywhere=False)
    assert checked_address(url, anywhere=True) == url


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("https://127.9.9.9", "https://127.9.9.9"),
    ],
)
def test_this_machine_is_asked(given: str, address: str) -> None:
    assert checked_address(given, anywhere=False) == address
