"""llama-server: a text is forced as the beginning of the answer, and the end follows at once.

It has no endpoint that parses a text. But it goes on with an assistant's message that ends a
conversation, and answers with its reading of the whole; where the end of a sequence alone is
likely, the whole is the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Json, ReadMessage
from autoparser.analysis.decoding.answer_writers import ServerEngine

from .engine_server import (
    CHAT,
    ChatServer,
    KnownText,
    ProbedChat,
    ServedModel,
    TextNotAskedError,
    TextRefusedError,
    TextRoute,
    TextRung,
    UnstreamedRung,
    choice_of,
    ended_choice,
    greedy_request,
    message_of,
    token_ids_of,
)
from .probe_client import ProbeClient

MARK = "x"
LIKELY = 1000
"""Added to the end's logit; no other token comes near it."""


@dataclass(frozen=True)
class LlamaProbe(ChatServer):
    """llama.cpp's server."""

    @classmethod
    def found(cls, client: ProbeClient, model: str) -> LlamaProbe:
        """Ask for its properties."""
        props = client.get("/props").object
        template, build = props.get("chat_template"), props.get("build_info")
        tokens = {name: props.get(name) for name in ("bos_token", "eos_token")}
        served = ServedModel(
            ServerEngine.LLAMA_SERVER,
            model,
            version=build if isinstance(build, str) else None,
            template=template if isinstance(template, str) and template else None,
            special_tokens={name: text for name, text in tokens.items() if isinstance(text, str)},
            notes=("it has one parser, which it makes of its template itself",),
        )
        return cls(client, served)

    def prompt(self, chat: ProbedChat) -> str:
        """Return what `/apply-template` renders."""
        reply = self.client.post("/apply-template", chat.body(self.model))
        found = reply.object.get("prompt")
        if not isinstance(found, str):
            raise TextRefusedError(reply.refusal)
        return found

    def sampled(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Have the prompt completed, and the chat answered: both take the likeliest tokens."""
        asked: dict[str, Json] = {
            "prompt": self.prompt(chat),
            "n_predict": limit,
            "temperature": 0,
            "return_tokens": True,
        }
        ids = token_ids_of(self.client.post("/completion", asked).object.get("tokens"))
        reply = self.client.post(CHAT, greedy_request(chat.body(self.model), limit))
        message = message_of(reply)
        ended_choice(choice_of(reply.object))
        written = self.client.post("/detokenize", {"tokens": [*(ids or ())]}).object.get("content")
        if not isinstance(written, str) or not written:
            raise TextNotAskedError("it does not say what it wrote")
        return written, message

    def rungs(self) -> Sequence[TextRung]:
        """Return the one that forces, if its end is one token."""
        asked: dict[str, Json] = {
            "content": self.served.special_tokens.get("eos_token", ""),
            "parse_special": True,
            "add_special": False,
        }
        match token_ids_of(self.client.post("/tokenize", asked).object.get("tokens")):
            case [end]:
                return (_ForcedByPrefill(self, end),)
            case _:
                return ()


@dataclass(frozen=True)
class _ForcedByPrefill(UnstreamedRung):
    server: LlamaProbe
    end: int
    rung = TextRoute.FORCED
    sees_reasoning = True
    blind = (
        "the stream: a server that goes on with a text leaves the text out of its stream",
        "grammars: nothing was sampled under one",
        "stop strings: the answer ends by its last token",
        "answers without reasoning: the server may put an empty block of it before them",
    )

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Have it go on with the text, and end."""
        begun = self._begun(chat, known)
        asked = replace(chat, messages=[*chat.messages, {"role": "assistant", **begun}])
        bias: list[Json] = [[self.end, LIKELY]]
        ending: dict[str, Json] = {"logit_bias": bias, "max_tokens": 4, "temperature": 0}
        body = {**asked.body(self.server.model), **ending}
        return message_of(self.server.client.post(CHAT, body))

    def _begun(self, chat: ProbedChat, known: KnownText) -> Mapping[str, Json]:
        """Return the message whose beginning is the text, to the letter.

        The server writes the markup around reasoning itself, so that what follows it is cut off
        where the server has it end. Raises TextNotAskedError.
        """
        prompt, reasoning = self.server.prompt(chat), known.message.reasoning
        said: Mapping[str, Json] = {"reasoning_content": reasoning} if reasoning else {}
        before = self._prompt(chat, {**said, "content": MARK}).removesuffix(MARK)
        whole = prompt + known.text
        if whole.startswith(before):
            return {**said, "content": whole[len(before) :]}
        if not reasoning and before.startswith(prompt):
            # Reasoning without a word that it puts there; the text may have begun with its end.
            ended = before[len(prompt) :].strip()
            opened = known.text.startswith(ended)
            return {"content": known.text[len(ended) :].lstrip() if opened else known.text}
        raise TextNotAskedError("its prompt does not go on with the text as it is")

    def _prompt(self, chat: ProbedChat, begun: Mapping[str, Json]) -> str:
        said = [*chat.messages, {"role": "assistant", **begun}]
        return self.server.prompt(replace(chat, messages=said))
