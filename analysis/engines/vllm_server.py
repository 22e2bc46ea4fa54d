"""vLLM: its derenderer reads the ids of a text; without it, a text is the only choice of an answer.

The derenderer is there with `--enable-scale-out`, and in `vllm launch render`, which has no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoparser.analysis.core.conversation import Json, ReadMessage
from autoparser.analysis.decoding.answer_writers import ServerEngine

from .engine_server import (
    CHAT,
    SPARE,
    KnownText,
    ProbedChat,
    ServedModel,
    TextRefusedError,
    TextRoute,
    TextRung,
    TokenServer,
    UnstreamedRung,
    choice_of,
    ended_choice,
    message_of,
    message_of_events,
    token_ids_of,
)
from .probe_client import ProbeClient

DERENDER = f"{CHAT}/derender"
LIKELIER, MOST = 5.0, 100.0
"""How much likelier a character makes a token, as the logarithm of its odds, and vLLM's limit."""
CHUNKS = 24
"""Pieces of a stream; the derenderer reads all that came before with each of them."""


@dataclass(frozen=True)
class VllmProbe(TokenServer):
    """vLLM's server, or its render server."""

    ids_field = "token_ids"

    @classmethod
    def found(cls, client: ProbeClient, model: str, root: str | None) -> VllmProbe:
        """Ask for its version; `root` is its model's place. It tells no names of parsers."""
        version = client.get("/version").object.get("version")
        served = ServedModel(
            ServerEngine.VLLM,
            model,
            version=version if isinstance(version, str) else None,
            template_place=root,
            notes=("it does not say which parsers it was started with",),
        )
        return cls(client, served)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TextRefusedError."""
        asked: dict[str, Json] = {"prompt": text, "add_special_tokens": False}
        reply = self.client.post("/tokenize", {"model": self.model, **asked})
        found = token_ids_of(reply.object.get("tokens"))
        if not found:
            raise TextRefusedError(reply.refusal)
        return found

    def bias(self, text: str) -> dict[str, Json]:
        """Return what makes the tokens of a text likelier, the longer the more, by their ids.

        A grammar lets a marker be spelled as well, and spelled it is text to who reads by ids.
        """
        asked: dict[str, Json] = {"prompt": text, "add_special_tokens": False}
        asked |= {"model": self.model, "return_token_strs": True}
        told = self.client.post("/tokenize", asked).object
        ids, texts = token_ids_of(told.get("tokens")), told.get("token_strs")
        if not ids or not isinstance(texts, list):
            return {}
        return {
            str(id_): min(MOST, LIKELIER * len(token))
            for id_, token in zip(ids, texts, strict=True)
            if isinstance(token, str)
        }

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""
        reply = self.client.post("/detokenize", {"model": self.model, "tokens": list(ids)})
        found = reply.object.get("prompt")
        if not isinstance(found, str):
            raise TextRefusedError(reply.refusal)
        return found

    def rungs(self) -> Sequence[TextRung]:
        """Return the derenderer, and the model where there is one."""
        given = [_GivenToDerenderer(self)] if self.client.post(DERENDER, {}).offered else []
        forced = [_ForcedAsChoice(self)] if self.client.post(CHAT, {}).offered else []
        return (*given, *forced)


@dataclass(frozen=True)
class _GivenToDerenderer:
    server: VllmProbe
    rung = TextRoute.GIVEN
    sees_reasoning = True
    streams = True
    blind = (
        "the model's own tokens: the text is cut as the tokenizer cuts it",
        "grammars and stop strings: nothing is generated",
    )
    _prompts: dict[str, list[int]] = field(default_factory=dict[str, list[int]], compare=False)

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it read the ids of the text at once."""
        prompt = self._prompt(chat)
        choice: Json = {
            "index": 0,
            "token_ids": [*self.server.ids(known.text)],
            "finish_reason": "stop",
        }
        asked: dict[str, Json] = {
            "generate_response": {"choices": [choice], "prompt_token_ids": [*prompt]},
            "prompt_token_ids": [*prompt],
            "chat_request": chat.body(self.server.model),
        }
        return message_of(self.server.client.post(DERENDER, asked))

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it read the ids piece by piece, each with the state that the last one gave."""
        ids, prompt = self.server.ids(known.text), self._prompt(chat)
        step = -(-len(ids) // CHUNKS)
        pieces = [ids[at : at + step] for at in range(0, len(ids), step)]
        events: list[Mapping[str, Json]] = []
        state: Json = None
        for at, piece in enumerate(pieces):
            last = at == len(pieces) - 1
            choice: Json = {
                "index": 0,
                "token_ids": [*piece],
                "finish_reason": "stop" if last else None,
            }
            asked: dict[str, Json] = {
                "stream": True,
                "generate_chunk": {"choices": [choice]},
                "stream_state": state,
                "prompt_token_ids": [*prompt],
                "chat_request": chat.body(self.server.model),
            }
            reply = self.server.client.post(DERENDER, asked)
            chunk, state = reply.object.get("chunk"), reply.object.get("stream_state")
            if not isinstance(chunk, dict):
                raise TextRefusedError(reply.refusal)
            events.append(chunk)
        return message_of_events(events)

    def _prompt(self, chat: ProbedChat) -> list[int]:
        if chat.key not in self._prompts:
            self._prompts[chat.key] = self.server.prompt_ids(chat)
        return self._prompts[chat.key]


@dataclass(frozen=True)
class _ForcedAsChoice(UnstreamedRung):
    server: VllmProbe
    rung = TextRoute.FORCED
    sees_reasoning = False
    blind = (
        "the stream: where the reasoning is left out, it may leave out calls as well",
        "the reasoning: a grammar holds from the beginning only where that is left out",
        "the model's own tokens: those of the tokenizer are made likely, and others may pass",
        "stop strings: the answer ends where the grammar does",
        "the text itself: no ids come where the reasoning is left out; its end is taken for it",
    )

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it write the text, and end where the grammar does."""
        reply = self.server.client.post(CHAT, self._body(chat, known.text))
        message = message_of(reply)
        ended_choice(choice_of(reply.object))
        return message

    def _body(self, chat: ProbedChat, text: str) -> dict[str, Json]:
        choice: Json = {"choice": [text]}
        return {
            **chat.body(self.server.model),
            "structured_outputs": choice,
            "logit_bias": self.server.bias(text),
            "include_reasoning": False,
            "max_tokens": len(text.encode()) + SPARE,
            "temperature": 0,
        }
