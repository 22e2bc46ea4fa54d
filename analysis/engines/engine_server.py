"""Define the server that a probe asks, whichever engine it is, and compare its messages.

- `ProbedChat`, `KnownText`: a request, and an answer to it whose meaning is known.
- `EngineServer`: a server; its `TextRung`s are ways to have it read a text, most certain first.
- `client_message`, `joined_deltas`, `message_differences`: the message that a client gets, and its
  differences from the message that was meant.

The servers of vLLM, SGLang and llama.cpp are in `probed_engines`.

For example, a client joins the deltas of a call, whose name comes only once:

    joined_deltas([{"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
                   {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}])
    ->  ReadMessage(calls=(ReadCall("f", "{}"),))
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

import httpx2

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage, same_json
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.history.openai_messages import REASONING
from autoparser.analysis.templates.worker_pool import ClosedAtExit

# Requests of a probe: JSON over HTTP, bounded in time and size; redirects are not followed.
#
# Contract: a server that cannot be probed at all (unreachable, silent, locked by a key,
# redirecting) is a `ProbeError` with a hint. Any response to a request, including a refusal, is a
# `ServerReply`.


SHOWN = 200
"""Most characters of a server's own message that are shown."""
LARGEST = 32_000_000
"""Bytes of an answer; `/server_info` and a prompt's ids are far below."""
_NOT_THERE = (403, 404, 405, 501)
"""Statuses of an absent endpoint; a server may forbid one that it was not started with."""


class ProbeError(AutoparserError):
    """A server cannot be probed."""


def checked_address(url: str, *, anywhere: bool) -> str:
    """Return the address without `/v1` at its end. Raises ProbeError.

    One beyond this machine is asked only with `anywhere`: a probe makes a model write, which may
    cost somebody money.
    """
    # A word such as `vllm` is more likely a wrong argument than a host.
    if "//" not in url and ":" not in url and not _is_this_machine(url):
        raise ProbeError("not a URL", file=url, hint="give http://127.0.0.1:PORT")
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ProbeError("not the address of a server", file=url, hint="give http://127.0.0.1:PORT")
    if not anywhere and not _is_this_machine(parts.hostname):
        raise ProbeError(
            "not an address of this machine, and a probe runs the server's model",
            file=url,
            hint="add --yes if you may do that, or use http://127.0.0.1:PORT",
        )
    return parts.geturl().rstrip("/").removesuffix("/v1")


def _is_this_machine(host: str) -> bool:
    try:
        # Other names are not resolved: the request would resolve them again, perhaps differently.
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class ServerReply:
    """The response of a server to one request."""

    status: int
    """The HTTP status, e.g. 200."""
    text: str
    """The body, e.g. `'{"data": []}'`."""

    @property
    def offered(self) -> bool:
        """Whether the server has the endpoint."""
        return self.status not in _NOT_THERE

    @property
    def ok(self) -> bool:
        """Whether the request succeeded, with a JSON object."""
        return self.status == HTTPStatus.OK and isinstance(self.value, dict)

    @cached_property
    def value(self) -> Json:
        """The decoded body, or None if it is not JSON."""
        try:
            value: Json = json.loads(self.text)
        except ValueError:
            return None
        return value

    @property
    def object(self) -> Mapping[str, Json]:
        """The decoded body if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def refusal(self) -> str:
        """Why the server refuses, in its own words."""
        # OpenAI's form, then those of older vLLM and of FastAPI.
        error = self.object.get("error", self.object.get("message", self.object.get("detail")))
        words = error.get("message") if isinstance(error, dict) else error
        cause = words if isinstance(words, str) else self.text
        return one_line(f"{self.status}: {cause.strip() or 'nothing'}", SHOWN)


class ProbeClient(ClosedAtExit):
    """Sends requests to one server; a context manager that closes its connections."""

    def __init__(self, url: str, *, timeout: float, key: str = "") -> None:
        """Prepare requests to a checked address, each of at most `timeout` seconds."""
        self.url = url
        self.requests = 0
        """Number of requests sent."""
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # No connection is reused: a server may close it at the moment of the next request, above
        # all after a failure, and a client cannot distinguish that from a crash.
        alone = httpx2.Limits(max_keepalive_connections=0)
        # Ignore the environment's proxies, which do not apply to a server on this machine.
        self._client = httpx2.Client(
            timeout=timeout, headers=headers, limits=alone, follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, path: str) -> ServerReply:
        """Send a GET request. Raises ProbeError."""
        return self._reply_to("GET", path, None)

    def post(self, path: str, body: Mapping[str, Json]) -> ServerReply:
        """Send a POST request. Raises ProbeError."""
        return self._reply_to("POST", path, body)

    def events(self, path: str, body: Mapping[str, Json]) -> list[Mapping[str, Json]] | ServerReply:
        """Request a stream; return its events, or the refusal. Raises ProbeError."""
        reply = self._reply_to("POST", path, {**body, "stream": True})
        if reply.status != HTTPStatus.OK:
            return reply
        found = list(_events(reply.text))
        # Without any event, the answer counts as a refusal.
        return found or reply

    def _reply_to(self, method: str, path: str, body: Mapping[str, Json] | None) -> ServerReply:
        self.requests += 1
        try:
            reply = self._read(method, path, body)
        except httpx2.TimeoutException as error:
            raise self._silent() from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProbeError(
                f"cannot be reached: {str(error) or type(error).__name__}",
                file=self.url,
                hint="start the server, or correct the address",
            ) from error
        return reply

    def _read(self, method: str, path: str, body: Mapping[str, Json] | None) -> ServerReply:
        # A server that sends byte by byte meets the timeout of every read, so the sum is bounded.
        until = time.monotonic() + self._timeout
        content = bytearray()
        with self._client.stream(method, f"{self.url}{path}", json=body) as answer:
            self._check(answer)
            for piece in answer.iter_bytes():
                content += piece
                if time.monotonic() > until:
                    raise self._silent()
                if len(content) > LARGEST:
                    raise ProbeError(
                        f"{path} returned more than {LARGEST // 1_000_000} MB",
                        file=self.url,
                        hint="check the address",
                    )
        return ServerReply(answer.status_code, content.decode(errors="replace"))

    def _check(self, answer: httpx2.Response) -> None:
        if answer.is_redirect:
            where = one_line(answer.headers.get("location", "elsewhere"), SHOWN)
            raise ProbeError(
                f"redirects to {where}, which is not followed",
                file=self.url,
                hint="use that address if it is the server's",
            )
        if answer.status_code in (401, 407):
            raise self.locked(answer.status_code)

    def locked(self, status: int) -> ProbeError:
        """Return the error of a server that wants a key."""
        return ProbeError(
            f"requires an API key ({status})",
            file=self.url,
            hint="pass it with --api-key, or in AUTOPARSER_API_KEY",
        )

    def _silent(self) -> ProbeError:
        return ProbeError(
            f"does not answer within {self._timeout:g} seconds",
            file=self.url,
            hint="check whether it hangs, or raise --server-timeout",
        )


def _events(text: str) -> Iterator[Mapping[str, Json]]:
    # Only at line feeds: JSON may contain other line breaks of Unicode unescaped.
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data:
            try:
                event: Json = json.loads(data)
            except ValueError:
                # `[DONE]`, which ends a stream, is not JSON.
                continue
            if isinstance(event, dict):
                yield event


@dataclass(frozen=True)
class ProbedChat:
    """The conversation that a request sends, in OpenAI's form."""

    messages: Sequence[Mapping[str, Json]]
    """E.g. `[{"role": "user", "content": "Hi"}]`."""
    tools: Sequence[Json] = ()
    """The tools in the form of OpenAI, e.g. `{"type": "function", "function": {…}}`; empty for
    none."""
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Variables of the template, e.g. `{"enable_thinking": False}`."""

    def body(self, model: str) -> dict[str, Json]:
        """Return the body of the request."""
        asked: dict[str, Json] = {"messages": [dict(message) for message in self.messages]}
        if model:
            asked["model"] = model
        if self.tools:
            asked["tools"] = list(self.tools)
        if self.settings:
            asked["chat_template_kwargs"] = dict(self.settings)
        return asked

    @property
    def key(self) -> str:
        """The identity of the chat: its request as JSON, in which the order of keys counts."""
        return json.dumps(self.body(""))


@dataclass(frozen=True, slots=True)
class KnownText:
    """An answer and its meaning."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    message: Message
    """The message that the template rendered as this text, e.g. with the content
    `"Here is what I found."`."""
    text: str
    r"""The text that the template writes after its prompt, up to the end of the turn, e.g.
    `"<tool_call>\n{\"name\": \"update_record\", …}\n</tool_call>"`."""
    other: Message | None = None
    """Another message that the template writes as the same text, if the schemas allow it, e.g. with
    `"null"` for null where texts stand bare."""

    @property
    def meanings(self) -> tuple[Message, ...]:
        """All messages that are right readings."""
        return (self.message,) if self.other is None else (self.message, self.other)


class TextRefusedError(Exception):
    """The server refuses to read one text; the message is the reason."""


class TextNotAskedError(Exception):
    """The text cannot reach the server's parser unchanged; the message is the reason."""


class TextRoute(StrEnum):
    """How a text came before the server's parser."""

    GIVEN = "given"
    """The server is sent the text, and nothing is generated."""
    FORCED = "forced"
    """The model is made to write the text."""
    SAMPLED = "sampled"
    """The model writes freely, and its raw output is requested as well."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A server's description of itself; a field is None if the server does not state it."""

    engine: ServerEngine
    """The engine behind the address, e.g. `ServerEngine.VLLM`."""
    model: str = ""
    """The name of the model in requests, e.g. `"Qwen/Qwen3-8B"`."""
    version: str | None = None
    """E.g. `"0.32.0"`."""
    template: str | None = None
    """The text of its template, e.g. `"{%- for message in messages %}…"`."""
    template_place: str | None = None
    """The directory, file or model from which its template is loaded, e.g. `"Qwen/Qwen3-8B"`."""
    special_tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """The special tokens that it renders its template with, e.g. `{"eos_token": "<|im_end|>"}`."""
    tool_parser: str | None = None
    """E.g. `"hermes"`."""
    reasoning_parser: str | None = None
    """E.g. `"qwen3"`."""
    parsers_told: bool = False
    """Whether it states the parsers it was started with, as SGLang does; None then means no
    parser."""
    notes: tuple[str, ...] = ()
    """Remarks about its parsers, e.g. `("one, which the server derives from its template",)`."""


class TextRung(ABC):
    """A way to have a server read texts."""

    rung: ClassVar[TextRoute]
    """The route that it takes, e.g. `TextRoute.GIVEN`."""
    blind: ClassVar[tuple[str, ...]]
    """The differences that it cannot detect, in words."""
    sees_reasoning: ClassVar[bool] = True
    """Whether the server returns the reasoning."""
    streams: ClassVar[bool] = False
    """Whether it can read a text as a stream."""

    @abstractmethod
    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Return the server's reading of an answer.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """

    def read_stream(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Return the message that a client joins from its stream. Raises as `read` does."""
        raise NotImplementedError


CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class EngineServer(ABC):
    """A server of one engine, with OpenAI's chat endpoint."""

    client: ProbeClient
    """Sends the requests, e.g. to `"http://127.0.0.1:8000"`."""
    served: ServedModel
    """The server's description of itself, e.g. with the model `"Qwen/Qwen3-8B"`."""
    engine: ClassVar[ServerEngine]
    """The engine whose servers the class asks, e.g. `ServerEngine.VLLM`."""

    @classmethod
    @abstractmethod
    def at_client(cls, client: ProbeClient, model: str, root: str | None) -> Self:
        """Return the server with its description, which it is asked for. Raises ProbeError.

        `root` is the place of the model in the server's list, e.g. `"Qwen/Qwen3-8B"`.
        """

    @abstractmethod
    def prompt(self, chat: ProbedChat) -> str:
        """Return the prompt that it renders for a chat. Raises TextRefusedError, ProbeError."""

    @abstractmethod
    def sample_chat(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the greedy output of its model and the server's reading of it.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """

    @abstractmethod
    def rungs(self) -> Sequence[TextRung]:
        """Return its ways to have texts read, the most certain first."""

    def body(self, chat: ProbedChat) -> dict[str, Json]:
        """Return the body of a request to its model."""
        return chat.body(self.served.model)

    def greedy_body(self, chat: ProbedChat, limit: int) -> dict[str, Json]:
        """Return the body of a request with greedy sampling."""
        return {**self.body(chat), "temperature": 0, "max_tokens": limit}


class ParserEndpoints(ABC):
    """A server that reads a text by any of its parsers, named in the request."""

    served: ServedModel
    """The server's description of itself."""
    listed: ClassVar[Path]
    """A YAML file with the names of its parsers, which the server does not list."""

    @abstractmethod
    def separate_reasoning(self, text: str, parser: str) -> tuple[str, str]:
        """Return reasoning and rest, by any reasoning parser. Raises TextRefusedError."""

    @abstractmethod
    def parse_calls(
        self, text: str, tools: Sequence[Json], parser: str
    ) -> tuple[str, tuple[ReadCall, ...]]:
        """Return content and calls, by any tool parser. Raises TextRefusedError."""


def client_message(value: Json) -> ReadMessage:
    """Read a message of a chat completion."""
    return joined_deltas([_object(value)])


def joined_deltas(deltas: Sequence[Mapping[str, Json]]) -> ReadMessage:
    """Join the deltas of a stream as a client does; calls by their index."""
    reasoning = content = ""
    calls: dict[int, ReadCall] = {}
    for delta in deltas:
        content += text_or_empty(delta.get("content"))
        # Some servers send both fields, for clients that know only one of them.
        reasoning += next(filter(None, (text_or_empty(delta.get(key)) for key in REASONING)), "")
        parts = delta.get("tool_calls")
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            call, index = _object(part), _object(part).get("index")
            # Calls of a whole message have no index: they are numbered by their order.
            place = index if isinstance(index, int) else at
            before = calls.get(place, ReadCall("", ""))
            function = _object(call.get("function"))
            calls[place] = ReadCall(
                before.name + text_or_empty(function.get("name")),
                before.arguments + text_or_empty(function.get("arguments")),
            )
    return ReadMessage(content, reasoning, tuple(calls[place] for place in sorted(calls)))


class ReadPart(StrEnum):
    """The parts of a message that are compared."""

    REASONING = "reasoning"
    """The reasoning, as text."""
    CONTENT = "content"
    """The content, as text."""
    CALLS = "calls"
    """Names and arguments of the calls, as JSON."""


class PartLikeness(StrEnum):
    """How much a part differs from the meaning."""

    EDGES = "edges"
    """Equal except for whitespace at its edges."""
    DIFFERENT = "different"
    """Another text, or other calls."""


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part of a message that differs from its meaning."""

    part: ReadPart
    """The part that differs, e.g. `"content"`."""
    likeness: PartLikeness
    """How much it differs, e.g. `"edges"`."""
    meant: Json
    """The text, or the calls with their arguments, as they are meant, e.g. `"Here it is."`."""
    came: Json
    r"""The same as the server has read it, e.g. `"\n\nHere it is."`."""


def nearest_reading(
    meanings: Sequence[Message], reading: ReadMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all meanings of a text; return the differences from the nearest one."""
    every = [
        tuple(
            difference
            for difference in message_differences(ReadMessage.of(meaning), reading)
            if difference.part in parts
        )
        for meaning in meanings
    ]
    return min(every, key=len)


def message_differences(meant: ReadMessage, reading: ReadMessage) -> tuple[PartDifference, ...]:
    """Compare texts exactly, and up to whitespace at their edges; calls as JSON."""
    return tuple(_differences(meant, reading))


def _differences(meant: ReadMessage, reading: ReadMessage) -> Iterator[PartDifference]:
    for part in (ReadPart.REASONING, ReadPart.CONTENT):
        wanted: str = getattr(meant, part)
        found: str = getattr(reading, part)
        if wanted != found:
            # Whitespace at the edges hardly matters to a reader, so it is a verdict of its own.
            alike = wanted.strip() == found.strip()
            likeness = PartLikeness.EDGES if alike else PartLikeness.DIFFERENT
            yield PartDifference(part, likeness, wanted, found)
    wanted_calls: list[Json] = [call.as_json for call in meant.calls]
    found_calls: list[Json] = [call.as_json for call in reading.calls]
    # As JSON: the spacing and the order of keys are the server's choice.
    if not same_json(wanted_calls, found_calls):
        yield PartDifference(ReadPart.CALLS, PartLikeness.DIFFERENT, wanted_calls, found_calls)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def text_or_empty(value: Json) -> str:
    """Return a text, or an empty one if the value is not one."""
    return value if isinstance(value, str) else ""


def first_choice(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the first choice, or an empty one without choices."""
    match value.get("choices"):
        case [dict() as first, *_]:
            return first
        case _:
            return {}


def completion_message(reply: ServerReply) -> ReadMessage:
    """Return the message of a completion. Raises TextRefusedError if it is not one."""
    message = first_choice(reply.object).get("message") if reply.ok else None
    if not isinstance(message, dict):
        raise TextRefusedError(reply.refusal)
    return client_message(message)


def streamed_message(events: Sequence[Mapping[str, Json]] | ServerReply) -> ReadMessage:
    """Return the message that a client joins from a stream. Raises TextRefusedError if refused."""
    if isinstance(events, ServerReply):
        raise TextRefusedError(events.refusal)
    for event in events:
        # The status was sent before, so a late error comes as an event.
        if "error" in event:
            raise TextRefusedError(f"in the middle of the stream: {event['error']}")
    return joined_deltas([_object(first_choice(event).get("delta")) for event in events])
