"""Run the application of `serve` in this process over HTTP, with a scripted backend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any
from unittest import mock

import httpx2

from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.chat_application import ChatEndpoint
from autoparser.analysis.engines.chat_preparer import ChatPreparer
from autoparser.analysis.engines.chat_request import ServingLimits
from autoparser.analysis.engines.completion_backend import CompletionBackend
from tests.fixture_analyses import analyzed

TEMPLATE = "j1-json-in-tags"
JSON = {"Content-Type": "application/json"}
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello."}]}
EVENT = b'data: {"content": "Hi", "tokens": [1], "stop": false}\n\n'
LAST = b'data: {"content": "", "stop": true, "stop_type": "eos", "tokens_predicted": 1}\n\n'
END = {"stop": True, "tokens_predicted": 9}
FAILING = b'data: {"error": {"code": 500, "message": "no memory"}}\n\n'

Pieces = Callable[[], AsyncIterator[bytes]]
Route = Callable[[httpx2.Request], httpx2.Response]


def talk_of(*pieces: bytes, wait: float = 0.0, breaks: bool = False) -> Pieces:
    """Return the talk of a backend that sends these pieces, and waits or breaks off after them."""

    async def talk() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(wait)
        if breaks:
            raise httpx2.ReadError("")

    return talk


whole = talk_of(EVENT, LAST)


# Sent byte by byte, which splits characters, and with line ends that some readers honor.
_STRANGE = EVENT.replace(b"\n\n", b"\r\n\r\n").replace(b"{", '{"more": "\u2028\x85 é",'.encode(), 1)
strange = talk_of(*(bytes([byte]) for byte in _STRANGE), LAST)


def refusing(_: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(400, json={"error": {"message": "the prompt is too long"}})


def writing(*told: Mapping[str, Any]) -> Pieces:
    """Return a backend's talk of these events."""
    return talk_of(*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in told))


def spelling(text: str, **last: object) -> Pieces:
    """Return the talk of a backend that writes a text character by character."""
    return writing(*({"content": character} for character in text), {"content": "", **END, **last})


def answered(
    talk: Pieces | Route,
    *bodies: Mapping[str, Any] | bytes | AsyncIterator[bytes],
    limits: ServingLimits | None = None,
    asked: list[dict[str, Any]] | None = None,
    headers: Mapping[str, str] = JSON,
    template: str = TEMPLATE,
    engine: ServerEngine = ServerEngine.LLAMA_SERVER,
    path: str = "/v1/chat/completions",
    **settings: Any,
) -> list[httpx2.Response]:
    """Ask the application with each body in turn; the backend answers completions by a talk.

    A body is an object, or bytes, or pieces of bytes. `asked` gets what the backend was asked,
    `settings` are those of the endpoint.
    """

    def backend(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/tokenize":
            return httpx2.Response(200, json={"tokens": [1]})
        if request.url.path == "/detokenize":
            return httpx2.Response(200, json={"content": "<|im_start|>"})
        if asked is not None:
            asked.append(json.loads(request.content))
        if talk is refusing:
            return refusing(request)
        pieces: Any = talk
        return httpx2.Response(200, content=pieces())

    async def ask() -> list[httpx2.Response]:
        mocked = partial(httpx2.AsyncClient, transport=httpx2.MockTransport(backend))
        with mock.patch.object(httpx2, "AsyncClient", mocked):
            behind = CompletionBackend("http://backend", engine)
        preparer = ChatPreparer(analyzed(template))
        endpoint = ChatEndpoint(preparer, behind, "parrot", limits or ServingLimits(), **settings)
        before = httpx2.ASGITransport(endpoint.application(), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=before, base_url="http://serve") as client:
            return [
                await client.post(
                    path,
                    content=json.dumps(body) if isinstance(body, Mapping) else body,
                    headers=headers,
                )
                for body in bodies
            ]

    return asyncio.run(ask())


def events(answer: httpx2.Response) -> list[str]:
    return [line.removeprefix("data: ") for line in answer.text.split("\n") if line]


def chunks(stream: httpx2.Response) -> list[dict[str, Any]]:
    """Return the chunks of a stream that came to its end."""
    *told, last = events(stream)
    assert last == "[DONE]"
    return [json.loads(line) for line in told]


def words(text: str) -> tuple[str, str]:
    error = json.loads(text)["error"]
    return error["type"], error["message"]
