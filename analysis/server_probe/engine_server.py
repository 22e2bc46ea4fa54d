"""What a probe asks of an engine, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from autoparser.analysis.constraining.decode import ServerEngine
from autoparser.analysis.core.conversation import Json, ReadMessage

from .known_text import KnownText, ProbedChat
from .probe_client import ServerReply

__all__ = [
    "EngineServer",
    "Rung",
    "ServedModel",
    "TextNotAskedError",
    "TextRefusedError",
    "TextRung",
]


class TextRefusedError(Exception):
    """The server does not do what was asked with one text; its text says why."""


class TextNotAskedError(Exception):
    """A text cannot be brought before the server's parser as it is; its text says why."""


class Rung(StrEnum):
    """How a text came before the server's parser."""

    GIVEN = "given"
    """The server is handed the text, and nothing is generated."""
    FORCED = "forced"
    """The model is made to write the text."""
    SAMPLED = "sampled"
    """The model writes what it likes; what it wrote is asked for beside."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What a server says of itself; None is what it does not say."""

    engine: ServerEngine
    model: str = ""
    version: str | None = None
    template: str | None = None
    """The text of its template."""
    template_place: str | None = None
    """The directory, file or model that its template is taken from."""
    special_tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those that it renders its template with."""
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    parsers_told: bool = False
    """Whether it says which parsers it was started with; None is then no parser."""
    notes: tuple[str, ...] = ()


class TextRung(Protocol):
    """Has a server read texts."""

    @property
    def rung(self) -> Rung:
        """How it does."""
        ...

    @property
    def blind(self) -> tuple[str, ...]:
        """What it cannot see, in words."""
        ...

    @property
    def sees_reasoning(self) -> bool:
        """Whether the reasoning comes back."""
        ...

    @property
    def streams(self) -> bool:
        """Whether it can be asked for a stream."""
        ...

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Return the server's reading of an answer.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """
        ...

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Return what a client puts together of its stream. Raises as `read`."""
        ...


class EngineServer(Protocol):
    """A server of one engine."""

    @property
    def served(self) -> ServedModel:
        """What it says of itself."""
        ...

    def prompt(self, chat: ProbedChat) -> str:
        """Return the prompt that it makes of a chat. Raises TextRefusedError, ProbeError."""
        ...

    def sampled(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return what its model writes, the likeliest token each time, and the server's reading.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """
        ...

    def greedy_events(
        self, chat: ProbedChat, limit: int
    ) -> Sequence[Mapping[str, Json]] | ServerReply:
        """Ask the same for a stream: its events, or the refusal. Raises ProbeError."""
        ...

    def rungs(self) -> Sequence[TextRung]:
        """Return what it has texts read by, the most certain first."""
        ...
