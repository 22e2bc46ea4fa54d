"""What servers of chats have in common, and those among them that tell ids of tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from autoparser.analysis.core.conversation import Json, ReadMessage

from .chat_replies import choice_of, ended, greedy, message_of, numbers
from .engine_server import ServedModel, TextNotAskedError, TextRefusedError
from .known_text import KnownText, ProbedChat
from .probe_client import ProbeClient, ServerReply

__all__ = ["CHAT", "SPARE", "ChatServer", "TokenServer", "UnstreamedRung"]

CHAT = "/v1/chat/completions"
SPARE = 64
"""Tokens beyond a text's bytes, after which a model that does not write it is stopped."""


@dataclass(frozen=True)
class ChatServer:
    """A server that answers chats as OpenAI's does."""

    client: ProbeClient
    served: ServedModel

    @property
    def model(self) -> str:
        """The name of the model in requests."""
        return self.served.model

    def greedy_events(
        self, chat: ProbedChat, limit: int
    ) -> Sequence[Mapping[str, Json]] | ServerReply:
        """Ask the same for a stream."""
        return self.client.events(CHAT, greedy(chat.body(self.model), limit))


@dataclass(frozen=True)
class TokenServer(ChatServer, ABC):
    """One that tells the ids of a chat's prompt and of its answer, and their text."""

    ids_field: ClassVar[str]
    """Where in a choice the ids of the answer are."""

    @abstractmethod
    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""

    def prompt(self, chat: ProbedChat) -> str:
        """Return the text of the ids of `/tokenize`."""
        return self.text(self.prompt_ids(chat))

    def prompt_ids(self, chat: ProbedChat) -> list[int]:
        """Return the ids of the prompt. Raises TextRefusedError."""
        reply = self.client.post("/tokenize", chat.body(self.model))
        found = numbers(reply.object.get("tokens"))
        if found is None:
            raise TextRefusedError(reply.refusal)
        return found

    def sampled(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the text of the ids that it gives beside its reading."""
        body: dict[str, Json] = {**greedy(chat.body(self.model), limit), "return_token_ids": True}
        reply = self.client.post(CHAT, body)
        message = message_of(reply)
        written = numbers(ended(choice_of(reply.object)).get(self.ids_field))
        if written is None:
            raise TextNotAskedError("it does not say which ids it wrote")
        return self.text(written), message


class UnstreamedRung:
    """A way that cannot be asked for a stream: what it cannot see first is why."""

    blind: ClassVar[tuple[str, ...]]
    streams = False

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Raise TextRefusedError."""
        del chat, known
        raise TextRefusedError(self.blind[0])
