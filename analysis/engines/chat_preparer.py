"""Prepare a chat request for a backend, and write its answer in OpenAI's form.

    ChatRequest -> ChatPreparer.prepare -> PreparedChat: prompt, grammar, parser
    deltas, message -> CompletionForm -> events of a stream, or one object

The grammar is the backend's to enforce; the parser reads the output either way.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.core.schema_keywords import SchemaError
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import StrictSchemaError, log_loosening
from autoparser.analysis.history.history_renders import BridgeRefusal
from autoparser.analysis.history.prompt_tokens import messages_of
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage

from .chat_request import ChatError, ChatRequest, CompletionEnd, shaped_messages, shaped_tools

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# Answers in the form of OpenAI's chat completions: one object, or the chunks of a stream.


LAST_EVENT = b"data: [DONE]\n\n"


def _new_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class CompletionForm:
    """The fields that all parts of one answer share."""

    model: str
    id: str = field(default_factory=_new_id)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(
        self, message: ParsedMessage, end: CompletionEnd, beside: dict[str, Json]
    ) -> dict[str, Json]:
        """Return an answer that comes at once; `beside` stands beside its message."""
        fields = message.to_openai()
        reason = fields.pop("finish_reason", None)
        choice: Json = {"index": 0, "message": fields, "finish_reason": reason, **beside}
        envelope = self._shared_fields("chat.completion")
        return {**envelope, "choices": [choice], "usage": token_usage(end)}

    def opening(self) -> bytes:
        """Return the first event of a stream."""
        return self._chunk({"role": "assistant", "content": ""}, None)

    def events(self, deltas: Sequence[Delta]) -> bytes:
        """Return the events of deltas."""
        return b"".join(map(self._event, deltas))

    def last(self, end: CompletionEnd, beside: dict[str, Json] | None) -> bytes:
        """Return the event that tells what the answer took."""
        fields = {
            **self._shared_fields("chat.completion.chunk"),
            "choices": [],
            "usage": token_usage(end),
        }
        return _event_of({**fields, **(beside or {})})

    def _event(self, delta: Delta) -> bytes:
        if delta.kind is DeltaKind.FINISH:
            return self._chunk({}, delta.text)
        return self._chunk(delta.to_openai(), None)

    def _chunk(self, delta: Json, reason: str | None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event_of({**self._shared_fields("chat.completion.chunk"), "choices": [choice]})

    def _shared_fields(self, kind: str) -> dict[str, Json]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def error_event(error: ChatError) -> bytes:
    """Return the event of an error that comes after a stream has begun; nothing follows it."""
    return _event_of(error.to_openai())


def token_usage(end: CompletionEnd) -> dict[str, Json]:
    """Return what an answer took."""
    cached: Json = {"cached_tokens": end.cached_tokens}
    return {
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "total_tokens": end.prompt_tokens + end.completion_tokens,
        "prompt_tokens_details": cached,
    }


def _event_of(value: Json) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


@dataclass(frozen=True, slots=True)
class PreparedChat:
    """The values needed to ask a backend and to parse its output."""

    request: ChatRequest
    prompt: str
    prompt_ids: tuple[int, ...] | None
    """None without a tokenizer."""
    parser: OutputParser
    grammar: Grammar
    """It knows the texts that end a turn, also where it holds nothing."""
    constrained: bool
    """Whether the backend is to hold the answer to the grammar."""
    bridged: str | None = None
    """Why the prompt does not go on from the earlier turn's ids; empty where it does, None where
    none were given."""


class ChatPreparer:
    """Prepares the chats of one template."""

    def __init__(
        self,
        analysis: Analysis,
        *,
        switches: Mapping[str, Json] | None = None,
        tokenizer: Tokenizer | None = None,
        loosen: bool = False,
    ) -> None:
        """Use an analyzed template; with a `tokenizer`, prompts are ids and can be bridged.

        `switches` stand where a request sets nothing else. With `loosen`, keywords that a grammar
        cannot be held to are left out of strict tools, too, and of the schema of content.
        """
        self._analysis = analysis
        self._switches = dict(switches or {})
        self._loosen = loosen
        self._renderer: Renderer | None = None
        self._bridging = threading.Lock()
        if tokenizer is not None:
            self._renderer = Renderer(analysis, tokenizer, switches=self._switches)

    def prepare(self, request: ChatRequest) -> PreparedChat:
        """Render the prompt, and make the grammar and the parser. Raises AutoparserError."""
        shape = self._analysis.shape
        messages = shaped_messages(messages_of(request.messages), shape)
        tools = shaped_tools(request.tools, shape) if request.tools else None
        switches: dict[str, Any] = {**self._switches, **(request.chat_template_kwargs or {})}
        bridged, reason = self._bridged(request, messages, tools)
        if bridged is not None:
            ids, prompt = bridged
        else:
            prompt = self._analysis.rendering.render(
                messages, tools, add_generation_prompt=True, **switches
            )
            ids = self.encode(prompt)
        options: dict[str, Any] = {
            "prompt": prompt,
            "chat_template_kwargs": switches or None,
            "tool_choice": request.tool_choice or "auto",
            "parallel_tool_calls": request.parallel_tool_calls,
            "json_schema": request.schema,
        }
        grammar, constrained = self._grammar(request, options)
        parser = self._analysis.parser(request.tools or [], **options)
        return PreparedChat(request, prompt, ids, parser, grammar, constrained, reason)

    def encode(self, text: str) -> tuple[int, ...] | None:
        """Return the token ids of a text, or None without a tokenizer."""
        return None if self._renderer is None else tuple(self._renderer.encode(text))

    def _grammar(self, request: ChatRequest, options: Mapping[str, Any]) -> tuple[Grammar, bool]:
        """Make the grammar, and say whether the answer is held to it.

        What a grammar cannot hold of a schema is left out and logged, unless its tool is strict.
        Where the model may choose to say anything, nothing was promised: a format without calls
        needs no grammar.
        """
        free = options["tool_choice"] == "auto" and request.schema is None
        grammar = self._analysis.grammar(
            request.tools or [], **options, loosen=self._loosen or None
        )
        if request.schema is None and (not request.tools or options["tool_choice"] == "none"):
            return grammar, False
        try:
            grammar.gbnf()
        except (GrammarError, SchemaError) as error:
            if not free or isinstance(error, StrictSchemaError):
                raise
            return grammar, False
        log_loosening(grammar.loosened("gbnf"))
        return grammar, True

    def _bridged(
        self,
        request: ChatRequest,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[object] | None,
    ) -> tuple[tuple[tuple[int, ...] | None, str] | None, str | None]:
        """Return a prompt that goes on from the earlier turn's ids, or why there is none."""
        earlier = request.continues
        if earlier is None:
            return None, None
        if self._renderer is None:
            raise ChatError(
                "this server does not know the model's tokenizer",
                place="continues",
                hint="start it with --tokenizer, or leave this out",
            )
        if request.chat_template_kwargs:
            return None, "the request sets chat_template_kwargs"
        answer_places = [at for at, each in enumerate(messages) if each.get("role") == "assistant"]
        new = messages[answer_places[-1] + 1 :] if answer_places else messages
        # A renderer changes its state as it bridges, so it is used by one thread at a time.
        with self._bridging:
            try:
                found = self._renderer.bridge_to_next_turn(
                    earlier.prompt_token_ids, earlier.token_ids, new, tools
                )
            except TokenizerError as error:
                words = f"{error.place}: {error.message}" if error.place else error.message
                raise ChatError(words, place="continues", hint=error.hint) from error
            if isinstance(found, BridgeRefusal):
                return None, f"{found.reason}: {found.detail}"
            ids = tuple(found.token_ids)
            return (ids, self._renderer.decode(ids)), ""
