"""Imitate engines' servers as far as a probe needs, with known mistakes.

Their ids are code points. They read one notation: reasoning between two tags, calls as JSON between
two others, the first closing tag always taken for the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

import httpx2

from autoparser import ChatTemplate

Body = Mapping[str, Any]
Answer = tuple[int, Any]
"""A status and a body: JSON, or a text sent verbatim."""

_CALL = re.compile(r"<tool_call>\s*(\{.*?)\s*</tool_call>", re.DOTALL)


def calls_in(text: str) -> tuple[str, list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    for match in _CALL.finditer(text):
        try:
            call = json.loads(match.group(1))
        except ValueError:
            return text, []
        found.append({"name": call["name"], "parameters": json.dumps(call["arguments"])})
    return _CALL.sub("", text).rstrip("\n") if found else text, found


def thought_in(text: str) -> tuple[str, str]:
    before, closed, after = text.partition("</think>")
    return (before.removeprefix("<think>"), after) if closed else ("", text)


def message_in(text: str, *, calling: bool = True) -> dict[str, Any]:
    reasoning, rest = thought_in(text)
    content, calls = calls_in(rest) if calling else (rest, [])
    return {
        "role": "assistant",
        "content": content or None,
        "reasoning_content": reasoning or None,
        "tool_calls": [
            {"function": {"name": call["name"], "arguments": call["parameters"]}} for call in calls
        ],
    }


def choices(message: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@dataclass
class EngineStub:
    """A server's answers, and the requests that it received."""

    owner: str
    template: ChatTemplate
    routes: dict[str, Callable[[Body], Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    url: str = "http://127.0.0.1:8000"

    def __post_init__(self) -> None:
        models = {"data": [{"id": "m", "owned_by": self.owner, "root": "m"}]}
        self.routes = {"/v1/models": lambda _: (200, models), **self.routes}

    def prompt(self, body: Body) -> str:
        """Render as an engine does, where arguments come as text and are wanted as an object."""
        messages = json.loads(json.dumps(body["messages"]))
        for message in messages:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        settings = body.get("chat_template_kwargs", {})
        tools = body.get("tools")
        return self.template.render(messages, tools, add_generation_prompt=True, **settings)


def vllm_stub(
    template: ChatTemplate,
    *,
    reads: Callable[[str], dict[str, Any]] = message_in,
    streams: Callable[[str], str] = str,
) -> EngineStub:
    """A render server with a parser; `streams` changes what its stream reads."""
    stub = EngineStub("vllm", template)

    def tokenize(body: Body) -> Answer:
        text = body["prompt"] if "prompt" in body else stub.prompt(body)
        return 200, {"tokens": [ord(character) for character in text]}

    def detokenize(body: Body) -> Answer:
        return 200, {"prompt": "".join(map(chr, body["tokens"]))}

    def derender(body: Body) -> Answer:
        if not body:
            return 400, {"error": {"message": "a field is missing"}}
        if not body.get("stream"):
            (choice,) = body["generate_response"]["choices"]
            return 200, choices(reads("".join(map(chr, choice["token_ids"]))))
        (choice,) = body["generate_chunk"]["choices"]
        ids = [*(body["stream_state"] or []), *choice["token_ids"]]
        delta: dict[str, Any] = {}
        if choice["finish_reason"]:
            delta = reads(streams("".join(map(chr, ids))))
        return 200, {"chunk": {"choices": [{"delta": delta}]}, "stream_state": ids}

    stub.routes |= {
        "/version": lambda _: (200, {"version": "0.0"}),
        "/tokenize": tokenize,
        "/detokenize": detokenize,
        "/v1/chat/completions/derender": derender,
    }
    return stub


def sglang_stub(
    template: ChatTemplate, *, tool_parser: str | None = "qwen", reasoning_parser: str = "qwen3"
) -> EngineStub:
    """A server with two parsers of each kind: one reads, one leaves the text as it is."""
    stub = EngineStub("sglang", template)

    def tokenize(body: Body) -> Answer:
        return 200, {"tokens": [ord(character) for character in stub.prompt(body)]}

    def separate(body: Body) -> Answer:
        if body["reasoning_parser"] not in ("qwen3", "kimi"):
            return 500, "Internal Server Error"
        known = body["reasoning_parser"] == "qwen3"
        reasoning, rest = thought_in(body["text"]) if known else ("", body["text"])
        return 200, {"reasoning_text": reasoning, "text": rest}

    def parse(body: Body) -> Answer:
        if not body or body["tool_call_parser"] not in ("qwen", "hermes"):
            return 500, "Internal Server Error"
        known = body["tool_call_parser"] == "qwen"
        content, calls = calls_in(body["text"]) if known else (body["text"], [])
        return 200, {"normal_text": content, "calls": calls}

    info = {"version": "0.0", "model_path": "m"}
    parsers = {"tool_call_parser": tool_parser, "reasoning_parser": reasoning_parser}
    stub.routes |= {
        "/server_info": lambda _: (200, {**info, **parsers}),
        "/tokenize": tokenize,
        "/detokenize": lambda body: (200, {"text": "".join(map(chr, body["tokens"]))}),
        "/separate_reasoning": separate,
        "/parse_function_call": parse,
    }
    return stub


@contextmanager
def answering(stub: EngineStub) -> Generator[EngineStub]:
    """Let every client that is made in the block ask this server; no socket is opened."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        stub.asked.append(request.url.path)
        stub.headers = {key.lower(): value for key, value in request.headers.items()}
        body: Body = json.loads(request.content) if request.content else {}
        route = stub.routes.get(request.url.path)
        status, said = route(body) if route else (404, {"detail": "Not Found"})
        content = said if isinstance(said, (str, Iterator)) else json.dumps(said)
        location = {"Location": str(said)} if 300 <= status < 400 else {}
        return httpx2.Response(status, headers=location, content=content)

    client = partial(httpx2.Client, transport=httpx2.MockTransport(answer))
    with mock.patch.object(httpx2, "Client", client):
        yield stub
