"""Ask the servers of vLLM, SGLang and llama.cpp for prompts and readings.

What they have in common is in `probe_base`. Another engine needs a class here, listed in `PROBES`,
and a record in `core/server_engines.py`. A text comes before a server's parser

- of vLLM by its derenderer, which reads the ids of a text (with `--enable-scale-out`, or in
  `vllm launch render`, which has no model); else by a grammar that allows only the text;
- of SGLang by two endpoints, which separate the reasoning of a text and read the calls in the rest,
  by any of its parsers; else by such a grammar;
- of llama.cpp as the beginning of the answer, whose end follows at once: its server has no endpoint
  that parses a text, but it goes on with an assistant's message that ends a conversation.

For example, llama.cpp's answer is begun with a part of the text, where its server writes an empty
block of reasoning before all content:

    text "<think></think>Yes", prompt with content "x": "…<model><think></think>x"
    ->  the answer begins as {"content": "Yes"}, which the server renders as the whole text
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine

from .client_messages import completion_message, first_choice, streamed_message, text_or_empty
from .probe_base import (
    CHAT,
    EngineServer,
    KnownText,
    ParserEndpoints,
    ProbedChat,
    ServedModel,
    TextNotAskedError,
    TextRoute,
    TextRung,
)
from .probe_client import ProbeClient, ServerReply, TextRefusedError

SPARE = 64
"""Tokens that a model may write in addition to the bytes of a text."""


def token_id_list(value: Json) -> list[int] | None:
    """Return token ids, or None for anything else."""
    if not isinstance(value, list):
        return None
    found = [token for token in value if isinstance(token, int)]
    return found if len(found) == len(value) else None


def text_in(reply: ServerReply, key: str) -> str:
    """Return a text member of a reply. Raises TextRefusedError if it is missing."""
    found = reply.object.get(key)
    if not isinstance(found, str):
        raise TextRefusedError(reply.refusal)
    return found


def only_text(text: str) -> str:
    """Return a grammar of one text; EBNF has all escapes of JSON strings."""
    return f"root ::= {json.dumps(text, ensure_ascii=False)}"


def ended_choice(reply: ServerReply) -> Mapping[str, Json]:
    """Return the choice. Raises TextNotAskedError if the token limit cut it."""
    choice = first_choice(reply.object)
    # A cut answer may lack the end of a call, and shows nothing about the parser.
    if choice.get("finish_reason") == "length":
        raise TextNotAskedError("its model did not stop")
    return choice


class TokenServer(EngineServer):
    """A server that returns token ids of prompts and answers, and the text of ids."""

    ids_field: ClassVar[str]
    """The field of a choice that has the ids of the answer."""

    @abstractmethod
    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""

    def prompt(self, chat: ProbedChat) -> str:
        """Return the text of the ids that `/tokenize` returns."""
        return self.text(self.prompt_ids(chat))

    def prompt_ids(self, chat: ProbedChat) -> list[int]:
        """Return the ids of the prompt. Raises TextRefusedError."""
        reply = self.client.post("/tokenize", self.body(chat))
        found = token_id_list(reply.object.get("tokens"))
        if found is None:
            raise TextRefusedError(reply.refusal)
        return found

    def sample_chat(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the text of the ids of its answer, and its reading."""
        body = {**self.greedy_body(chat, limit), "return_token_ids": True}
        reply = self.client.post(CHAT, body)
        message = completion_message(reply)
        written = token_id_list(ended_choice(reply).get(self.ids_field))
        if written is None:
            raise TextNotAskedError("it does not return token ids")
        return self.text(written), message


DERENDER = f"{CHAT}/derender"
LIKELIER, MOST = 5.0, 100.0
"""Bias for each character of a token, in log odds, and vLLM's maximum."""
CHUNKS = 24
"""Most pieces of a stream; the derenderer reads all earlier ones again with each."""


class VllmProbe(TokenServer):
    """vLLM's server, or its render server."""

    engine = ServerEngine.VLLM
    ids_field = "token_ids"

    @classmethod
    def at_client(cls, client: ProbeClient, model: str, root: str | None) -> Self:
        """Ask for its version."""
        version = client.get("/version").object.get("version")
        served = ServedModel(
            cls.engine,
            model,
            version=version if isinstance(version, str) else None,
            template_place=root,
            notes=("it does not say which parsers it was started with",),
        )
        return cls(client, served)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TextRefusedError."""
        reply = self._tokenized(text)
        found = token_id_list(reply.object.get("tokens"))
        if not found:
            raise TextRefusedError(reply.refusal)
        return found

    def bias(self, text: str) -> dict[str, Json]:
        """Return a bias by id that makes the tokens of a text likelier, long ones the most.

        A grammar lets a marker be spelled as well, and spelled it is text to who reads by ids.
        """
        reply = self._tokenized(text, return_token_strs=True).object
        ids, texts = token_id_list(reply.get("tokens")), reply.get("token_strs")
        if not ids or not isinstance(texts, list):
            return {}
        return {
            str(id_): min(MOST, LIKELIER * len(token))
            for id_, token in zip(ids, texts, strict=True)
            if isinstance(token, str)
        }

    def _tokenized(self, text: str, **more: Json) -> ServerReply:
        body: dict[str, Json] = {"prompt": text, "add_special_tokens": False}
        return self.client.post("/tokenize", {"model": self.served.model, **body, **more})

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""
        body: dict[str, Json] = {"model": self.served.model, "tokens": list(ids)}
        return text_in(self.client.post("/detokenize", body), "prompt")

    def rungs(self) -> Sequence[TextRung]:
        """Return the derenderer, and the model where there is one."""
        # An empty request suffices: an endpoint that exists rejects it with another status than
        # 404.
        given = [_GivenToDerenderer(self)] if self.client.post(DERENDER, {}).offered else []
        forced = [_ForcedByVllm(self)] if self.client.post(CHAT, {}).offered else []
        return (*given, *forced)


@dataclass(frozen=True)
class _GivenToDerenderer(TextRung):
    server: VllmProbe
    """The server that reads the texts."""
    rung = TextRoute.GIVEN
    streams = True
    blind = (
        "the model's own tokens: the tokenizer splits the text again",
        "grammars and stop strings: nothing is generated",
    )
    _prompts: dict[str, list[int]] = field(default_factory=dict[str, list[int]], compare=False)
    """The ids of prompts, e.g. `[151644, 872]`, by the key of their chat, since each text asks for
    the same."""

    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Send all ids of the text."""
        prompt = self._prompt(chat)
        ids = self.server.ids(known_text.text)
        response: Json = {**_chosen(ids, "stop"), "prompt_token_ids": [*prompt]}
        return completion_message(self._reply_to(chat, prompt, generate_response=response))

    def read_stream(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Send the ids piece by piece, each with the state that the last reply returned."""
        ids, prompt = self.server.ids(known_text.text), self._prompt(chat)
        # Rounded up, so that there are at most so many pieces.
        step = -(-len(ids) // CHUNKS)
        events: list[Mapping[str, Json]] = []
        state: Json = None
        for at in range(0, len(ids), step):
            reason = "stop" if at + step >= len(ids) else None
            chunk: Json = _chosen(ids[at : at + step], reason)
            reply = self._reply_to(
                chat, prompt, stream=True, generate_chunk=chunk, stream_state=state
            )
            # The endpoint stores nothing, so the next piece has to bring the state back.
            event, state = reply.object.get("chunk"), reply.object.get("stream_state")
            if not isinstance(event, dict):
                raise TextRefusedError(reply.refusal)
            events.append(event)
        return streamed_message(events)

    def _reply_to(self, chat: ProbedChat, prompt: Sequence[int], **fields: Json) -> ServerReply:
        request: Json = self.server.body(chat)
        body: dict[str, Json] = {**fields, "prompt_token_ids": [*prompt], "chat_request": request}
        return self.server.client.post(DERENDER, body)

    def _prompt(self, chat: ProbedChat) -> list[int]:
        if chat.key not in self._prompts:
            self._prompts[chat.key] = self.server.prompt_ids(chat)
        return self._prompts[chat.key]


def _chosen(ids: Sequence[int], reason: str | None) -> dict[str, Json]:
    choice: Json = {"index": 0, "token_ids": [*ids], "finish_reason": reason}
    return {"choices": [choice]}


@dataclass(frozen=True)
class _ForcedByVllm(TextRung):
    server: VllmProbe
    """The server that reads the texts."""
    rung = TextRoute.FORCED
    sees_reasoning = False
    blind = (
        "the stream: if reasoning is omitted, it may omit calls, too",
        "the reasoning: a grammar applies from the first token only if reasoning is omitted",
        "the model's own tokens: the tokenizer's are made likely, but others are allowed",
        "stop strings: the answer ends with the grammar",
        "the text itself: no ids are returned if reasoning is omitted; only its end is checked",
    )

    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Constrain the model to the text, which ends with the grammar."""
        # A plugin may put reasoning before a choice or a pattern, but leaves a grammar unchanged.
        grammar: Json = {"grammar": only_text(known_text.text)}
        body: dict[str, Json] = {
            **self.server.greedy_body(chat, len(known_text.text.encode()) + SPARE),
            "structured_outputs": grammar,
            # The grammar alone lets the model spell a marker in ordinary tokens.
            "logit_bias": self.server.bias(known_text.text),
            # Otherwise vLLM would apply the grammar only after the reasoning.
            "include_reasoning": False,
        }
        reply = self.server.client.post(CHAT, body)
        message = completion_message(reply)
        ended_choice(reply)
        return message


SEPARATE = "/separate_reasoning"
PARSE = "/parse_function_call"
NO_THINKING: dict[str, Json] = {"enable_thinking": False, "thinking": False}
"""Values in `chat_template_kwargs` with which SGLang applies a grammar from the first token."""


class SglangProbe(TokenServer, ParserEndpoints):
    """SGLang's server."""

    engine = ServerEngine.SGLANG
    ids_field = "response_token_ids"
    listed = Path(__file__).with_name("sglang_parsers.yaml")

    @classmethod
    def at_client(cls, client: ProbeClient, model: str, root: str | None) -> Self:
        """Ask for the parsers that it was started with."""
        del root
        info = client.get("/server_info").object

        def text_field(key: str) -> str | None:
            return text_or_empty(info.get(key)) or None

        served = ServedModel(
            cls.engine,
            model,
            version=text_field("version"),
            template_place=text_field("chat_template") or text_field("model_path"),
            tool_parser=text_field("tool_call_parser"),
            reasoning_parser=text_field("reasoning_parser"),
            parsers_told="tool_call_parser" in info,
        )
        return cls(client, served)

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""
        body: dict[str, Json] = {"tokens": list(ids), "skip_special_tokens": False}
        reply = self.client.post("/detokenize", {"model": self.served.model, **body})
        return text_in(reply, "text")

    def rungs(self) -> Sequence[TextRung]:
        """Return the two endpoints, and the model."""
        given = [_GivenToEndpoints(self)] if self.client.post(PARSE, {}).offered else []
        return (*given, _ForcedByGrammar(self))

    def separate_reasoning(self, text: str, parser: str) -> tuple[str, str]:
        """Return reasoning and rest, by any reasoning parser. Raises TextRefusedError."""
        reply = self.client.post(SEPARATE, {"text": text, "reasoning_parser": parser})
        reasoning, rest = reply.object.get("reasoning_text"), reply.object.get("text")
        if not reply.ok:
            raise TextRefusedError(reply.refusal)
        return str(reasoning or ""), str(rest or "")

    def parse_calls(
        self, text: str, tools: Sequence[Json], parser: str
    ) -> tuple[str, tuple[ReadCall, ...]]:
        """Return content and calls, by any parser of calls. Raises TextRefusedError."""
        body: dict[str, Json] = {"text": text, "tools": list(tools), "tool_call_parser": parser}
        reply = self.client.post(PARSE, body)
        calls = reply.object.get("calls")
        if not isinstance(calls, list):
            raise TextRefusedError(reply.refusal)
        found = [call for call in calls if isinstance(call, dict)]
        read = [ReadCall(str(call.get("name")), str(call.get("parameters"))) for call in found]
        return str(reply.object.get("normal_text") or ""), tuple(read)


@dataclass(frozen=True)
class _GivenToEndpoints(TextRung):
    server: SglangProbe
    """The server that reads the texts."""
    rung = TextRoute.GIVEN
    blind = (
        "the stream: its endpoints accept only whole texts",
        "the prompt: its endpoints do not receive it",
        "grammars and stop strings: nothing is generated",
    )

    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Have the parsers that it was started with read the text, one after the other."""
        served = self.server.served
        reasoning, content, calls = "", known_text.text, tuple[ReadCall, ...]()
        if served.reasoning_parser is not None:
            reasoning, content = self.server.separate_reasoning(content, served.reasoning_parser)
        if served.tool_parser is not None:
            content, calls = self.server.parse_calls(content, chat.tools, served.tool_parser)
        return ReadMessage(content, reasoning, calls)


@dataclass(frozen=True)
class _ForcedByGrammar(TextRung):
    server: SglangProbe
    """The server that reads the texts."""
    rung = TextRoute.FORCED
    streams = True
    blind = (
        "the model's own tokens: a grammar allows others",
        "answers with reasoning: a grammar applies only after it",
        "stop strings: the answer ends with the grammar",
    )
    _chats: dict[str, ProbedChat] = field(default_factory=dict[str, ProbedChat], compare=False)
    """The chats to send, e.g. with `{"enable_thinking": False, …}`, by the key of the asked ones,
    since each text has the same."""

    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Constrain the model to the text, and check its ids."""
        # The ids show whether the model has written the text.
        body = {**self._body(chat, known_text.text), "return_token_ids": True}
        reply = self.server.client.post(CHAT, body)
        written = token_id_list(first_choice(reply.object).get(self.server.ids_field))
        message = completion_message(reply)
        # With reasoning enabled, the grammar only applies after it, so other text comes first.
        if written is None or not self.server.text(written).startswith(known_text.text):
            raise TextNotAskedError("its model did not write the text")
        return message

    def read_stream(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Constrain the model to the text, streamed."""
        return streamed_message(self.server.client.events(CHAT, self._body(chat, known_text.text)))

    def _chat_without_thinking(self, chat: ProbedChat) -> ProbedChat:
        """Return the chat with thinking off, if that leaves its prompt unchanged."""
        if chat.key not in self._chats:
            # The chat's own settings come last, so that they are kept.
            off = replace(chat, settings={**NO_THINKING, **chat.settings})
            same = self.server.prompt_ids(off) == self.server.prompt_ids(chat)
            self._chats[chat.key] = off if same else chat
        return self._chats[chat.key]

    def _body(self, chat: ProbedChat, text: str) -> dict[str, Json]:
        body = self.server.greedy_body(
            self._chat_without_thinking(chat), len(text.encode()) + SPARE
        )
        return {**body, "ebnf": only_text(text)}


MARK = "x"
LIKELY = 1000
"""Bias on the end token, with which it is certain to follow."""


class LlamaProbe(EngineServer):
    """llama.cpp's server."""

    engine = ServerEngine.LLAMA_SERVER

    @classmethod
    def at_client(cls, client: ProbeClient, model: str, root: str | None) -> Self:
        """Ask for its properties."""
        del root
        props = client.get("/props").object
        build = props.get("build_info")
        tokens = {name: props.get(name) for name in ("bos_token", "eos_token")}
        served = ServedModel(
            cls.engine,
            model,
            version=build if isinstance(build, str) else None,
            template=text_or_empty(props.get("chat_template")) or None,
            special_tokens={name: text for name, text in tokens.items() if isinstance(text, str)},
            notes=("one, which the server derives from its template",),
        )
        return cls(client, served)

    def prompt(self, chat: ProbedChat) -> str:
        """Return the render of `/apply-template`."""
        return text_in(self.client.post("/apply-template", self.body(chat)), "prompt")

    def sample_chat(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Complete the prompt, and answer the chat: greedy, so both write the same."""
        completion: dict[str, Json] = {
            "prompt": self.prompt(chat),
            "n_predict": limit,
            "temperature": 0,
            "return_tokens": True,
        }
        ids = token_id_list(self.client.post("/completion", completion).object.get("tokens"))
        reply = self.client.post(CHAT, self.greedy_body(chat, limit))
        message = completion_message(reply)
        ended_choice(reply)
        written = self.client.post("/detokenize", {"tokens": [*(ids or ())]}).object.get("content")
        if not isinstance(written, str) or not written:
            raise TextNotAskedError("it does not return the raw text")
        return written, message

    def rungs(self) -> Sequence[TextRung]:
        """Return the route by prefilling, if the end of a turn is one token."""
        end_text: dict[str, Json] = {
            "content": self.served.special_tokens.get("eos_token", ""),
            "parse_special": True,
            "add_special": False,
        }
        match token_id_list(self.client.post("/tokenize", end_text).object.get("tokens")):
            # An end of several tokens could not be made likely by one bias.
            case [end]:
                return (_ForcedByPrefill(self, end),)
            case _:
                return ()


@dataclass(frozen=True)
class _ForcedByPrefill(TextRung):
    server: LlamaProbe
    """The server that reads the texts."""
    end: int
    """The id of the token that ends a turn, e.g. 151645."""
    rung = TextRoute.FORCED
    blind = (
        "the stream: a server that continues a text omits that text from its stream",
        "grammars: nothing was sampled under one",
        "stop strings: the answer ends with its last token",
        "answers without reasoning: the server may insert an empty reasoning block",
    )

    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Prefill the answer with the text, and let it end."""
        begun = _with_answer(chat, self._answer_start(chat, known_text))
        # The end token is made certain, so that the answer ends right after the text.
        bias: list[Json] = [[self.end, LIKELY]]
        body = {**self.server.greedy_body(begun, 4), "logit_bias": bias}
        return completion_message(self.server.client.post(CHAT, body))

    def _answer_start(self, chat: ProbedChat, known_text: KnownText) -> Mapping[str, Json]:
        """Return the partial message that the server renders as the text, exactly.

        The server writes the markup around reasoning itself, so that what follows it is cut off
        where the server has it end. Raises TextNotAskedError.
        """
        prompt, reasoning = self.server.prompt(chat), known_text.message.reasoning
        reasoning_field: Mapping[str, Json] = {"reasoning_content": reasoning} if reasoning else {}
        # A mark in place of the content shows the text that the server puts before it.
        marked = self.server.prompt(_with_answer(chat, {**reasoning_field, "content": MARK}))
        before = marked.removesuffix(MARK)
        whole = prompt + known_text.text
        if whole.startswith(before):
            return {**reasoning_field, "content": whole[len(before) :]}
        if not reasoning and before.startswith(prompt):
            # The server inserts an empty reasoning block; the text may begin with its end.
            ended = before[len(prompt) :].strip()
            opened = known_text.text.startswith(ended)
            return {
                "content": known_text.text[len(ended) :].lstrip() if opened else known_text.text
            }
        raise TextNotAskedError("its prompt does not continue with the exact text")


def _with_answer(chat: ProbedChat, answer_start: Mapping[str, Json]) -> ProbedChat:
    """Return the chat with the beginning of an assistant message at its end."""
    return replace(chat, messages=[*chat.messages, {"role": "assistant", **answer_start}])


PROBES: Sequence[type[EngineServer]] = (VllmProbe, SglangProbe, LlamaProbe)
"""The class of each engine's server, chosen by the owner of the models that it lists."""
