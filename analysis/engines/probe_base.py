"""Base classes of the servers that a probe asks, and the values that go in and out.

- `ProbedChat`, `KnownText`: a request, and an answer to it whose meaning is known.
- `EngineServer`: a server; its `TextRung`s are ways to have it read a text, most certain first.

The servers of vLLM, SGLang and llama.cpp are in `probe_engines`, their HTTP client in
`probe_client`, and the messages that a client gets from them in `client_messages`. Another engine
needs a record in `core/server_engines.py` and a subclass of `EngineServer` in `PROBES`.

For example, the body of a request:

    >>> chat = ProbedChat([{"role": "user", "content": "Hi"}], settings={"enable_thinking": False})
    >>> for name, value in chat.body("qwen3").items():
    ...     print(name, value)
    messages [{'role': 'user', 'content': 'Hi'}]
    model qwen3
    chat_template_kwargs {'enable_thinking': False}
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine

from .probe_client import ProbeClient


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
