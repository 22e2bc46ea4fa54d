"""SGLang: it separates the reasoning of a text, and reads calls in the rest, by a parser of its."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autoparser.analysis.core.conversation import Json, ReadCall, ReadMessage
from autoparser.analysis.decoding.answer_writers import ServerEngine

from .engine_server import (
    CHAT,
    SPARE,
    KnownText,
    ProbedChat,
    ServedModel,
    TextNotAskedError,
    TextRefusedError,
    TextRoute,
    TextRung,
    TokenServer,
    UnstreamedRung,
    choice_of,
    message_of,
    message_of_events,
    token_ids_of,
)
from .probe_client import ProbeClient

SEPARATE = "/separate_reasoning"
PARSE = "/parse_function_call"
NO_THINKING: dict[str, Json] = {"enable_thinking": False, "thinking": False}
"""What SGLang looks at in `chat_template_kwargs` before a grammar holds from the first token on."""


@dataclass(frozen=True)
class SglangProbe(TokenServer):
    """SGLang's server."""

    ids_field = "response_token_ids"

    @classmethod
    def found(cls, client: ProbeClient, model: str) -> SglangProbe:
        """Ask what it was started with."""
        info = client.get("/server_info").object

        def told(name: str) -> str | None:
            value = info.get(name)
            return value if isinstance(value, str) and value else None

        served = ServedModel(
            ServerEngine.SGLANG,
            model,
            version=told("version"),
            template_place=told("chat_template") or told("model_path"),
            tool_parser=told("tool_call_parser"),
            reasoning_parser=told("reasoning_parser"),
            parsers_told="tool_call_parser" in info,
        )
        return cls(client, served)

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""
        asked: dict[str, Json] = {"tokens": list(ids), "skip_special_tokens": False}
        reply = self.client.post("/detokenize", {"model": self.model, **asked})
        found = reply.object.get("text")
        if not isinstance(found, str):
            raise TextRefusedError(reply.refusal)
        return found

    def rungs(self) -> Sequence[TextRung]:
        """Return the two endpoints, and the model."""
        given = [_GivenToEndpoints(self)] if self.client.post(PARSE, {}).offered else []
        return (*given, _ForcedByGrammar(self))

    def separated(self, text: str, parser: str) -> tuple[str, str]:
        """Return reasoning and rest, by any reasoning parser. Raises TextRefusedError."""
        reply = self.client.post(SEPARATE, {"text": text, "reasoning_parser": parser})
        reasoning, rest = reply.object.get("reasoning_text"), reply.object.get("text")
        if not reply.ok:
            raise TextRefusedError(reply.refusal)
        return str(reasoning or ""), str(rest or "")

    def called(
        self, text: str, tools: Sequence[Json], parser: str
    ) -> tuple[str, tuple[ReadCall, ...]]:
        """Return content and calls, by any parser of calls. Raises TextRefusedError."""
        asked: dict[str, Json] = {"text": text, "tools": list(tools), "tool_call_parser": parser}
        reply = self.client.post(PARSE, asked)
        calls = reply.object.get("calls")
        if not isinstance(calls, list):
            raise TextRefusedError(reply.refusal)
        found = [each for each in calls if isinstance(each, dict)]
        read = [ReadCall(str(each.get("name")), str(each.get("parameters"))) for each in found]
        return str(reply.object.get("normal_text") or ""), tuple(read)


@dataclass(frozen=True)
class _GivenToEndpoints(UnstreamedRung):
    server: SglangProbe
    rung = TextRoute.GIVEN
    sees_reasoning = True
    blind = (
        "the stream: its endpoints take a whole text",
        "the prompt: its endpoints are not told what it has opened",
        "grammars and stop strings: nothing is generated",
    )

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have the parsers that it was started with read the text, one after the other."""
        served = self.server.served
        reasoning, content, calls = "", known.text, tuple[ReadCall, ...]()
        if served.reasoning_parser is not None:
            reasoning, content = self.server.separated(content, served.reasoning_parser)
        if served.tool_parser is not None:
            content, calls = self.server.called(content, chat.tools, served.tool_parser)
        return ReadMessage(content, reasoning, calls)


@dataclass(frozen=True)
class _ForcedByGrammar:
    server: SglangProbe
    rung = TextRoute.FORCED
    sees_reasoning = True
    streams = True
    blind = (
        "the model's own tokens: a grammar lets others pass",
        "answers to prompts in which reasoning is on: a grammar begins after it",
        "stop strings: the answer ends where the grammar does",
    )
    _chats: dict[str, ProbedChat] = field(default_factory=dict[str, ProbedChat], compare=False)

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it write the text, and see by the ids that it did."""
        body = {**self._body(chat, known.text), "return_token_ids": True}
        reply = self.server.client.post(CHAT, body)
        written = token_ids_of(choice_of(reply.object).get("response_token_ids"))
        message = message_of(reply)
        if written is None or not self.server.text(written).startswith(known.text):
            raise TextNotAskedError("its model did not write the text")
        return message

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it write the text as a stream."""
        return message_of_events(self.server.client.events(CHAT, self._body(chat, known.text)))

    def _held(self, chat: ProbedChat) -> ProbedChat:
        """Return the chat, without thinking where that leaves its prompt as it is."""
        known = repr(chat)
        if known not in self._chats:
            off = replace(chat, settings={**NO_THINKING, **chat.settings})
            same = self.server.prompt_ids(off) == self.server.prompt_ids(chat)
            self._chats[known] = off if same else chat
        return self._chats[known]

    def _body(self, chat: ProbedChat, text: str) -> dict[str, Json]:
        # The escapes of JSON's strings are among those of the grammar's.
        grammar = f"root ::= {json.dumps(text, ensure_ascii=False)}"
        most = len(text.encode()) + SPARE
        body = self._held(chat).body(self.server.model)
        return {**body, "ebnf": grammar, "temperature": 0, "max_tokens": most}
