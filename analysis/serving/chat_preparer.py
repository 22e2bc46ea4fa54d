"""What a chat request becomes before a backend is asked: a prompt, a grammar, a parser."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.constraining.grammar import (
    Grammar,
    GrammarError,
    StrictSchemaError,
    log_loosening,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.core.schema import SchemaError
from autoparser.analysis.history.renderer import BridgeRefusal, Renderer
from autoparser.analysis.history.renderer.asked import messages_of
from autoparser.analysis.reading.parsing import OutputParser

from .chat_error import ChatError
from .chat_messages import shaped_messages, shaped_tools
from .chat_request import ChatRequest

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class PreparedChat:
    """All that is needed to ask a backend, and to read what it writes."""

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
        """Use an analysed template; with a `tokenizer`, prompts are ids and can be bridged.

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
        """Render, and make what constrains and reads. Raises AutoparserError."""
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
        asked: dict[str, Any] = {
            "prompt": prompt,
            "chat_template_kwargs": switches or None,
            "tool_choice": request.tool_choice or "auto",
            "parallel_tool_calls": request.parallel_tool_calls,
            "json_schema": request.schema,
        }
        grammar, constrained = self._grammar(request, asked)
        parser = self._analysis.parser(request.tools or [], **asked)
        return PreparedChat(request, prompt, ids, parser, grammar, constrained, reason)

    def encode(self, text: str) -> tuple[int, ...] | None:
        """Return a text as ids; None without a tokenizer."""
        return None if self._renderer is None else tuple(self._renderer.encode(text))

    def _grammar(self, request: ChatRequest, asked: Mapping[str, Any]) -> tuple[Grammar, bool]:
        """Make the grammar, and say whether the answer is held to it.

        What a grammar cannot hold of a schema is left out and logged, unless its tool is strict.
        Where the model may choose to say anything, nothing was promised: a format without calls
        needs no grammar.
        """
        free = asked["tool_choice"] == "auto" and request.schema is None
        grammar = self._analysis.grammar(request.tools or [], **asked, loosen=self._loosen or None)
        if request.schema is None and (not request.tools or asked["tool_choice"] == "none"):
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
        said = [at for at, each in enumerate(messages) if each.get("role") == "assistant"]
        new = messages[said[-1] + 1 :] if said else messages
        # A renderer learns as it bridges, and is for one at a time.
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
