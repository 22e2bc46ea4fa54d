"""The format of the model that a server runs: learnt once, asked with every request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

from autoparser.analysis.analysis import analyze
from autoparser.analysis.constraining.grammar import log_loosening
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.learnt import LearntFormat, load_format
from autoparser.analysis.loading.template import ChatTemplate
from autoparser.analysis.loading.tokens import ModelTokenizer, tokenizer_of
from autoparser.analysis.reading.expression import Start, Turn
from autoparser.analysis.reading.parsing import OutputParser, after_reasoning

from .served_request import ServedRequest
from .served_template import served_template

__all__ = ["FORMAT_VARIABLE", "ServedFormat", "served_format"]

FORMAT_VARIABLE = "AUTOPARSER_FORMAT"
"""Names a saved format; then no template is read, and none is run."""

_TAIL = 2048
"""Tokens of a prompt that are looked at: the turn that it begins, and what stands before it."""

ReasoningPlace = Literal["separate", "raw"]


@dataclass(frozen=True, eq=False)
class ServedFormat:
    """A format and its tokenizer; shared by all requests of a server."""

    learnt: LearntFormat
    tokenizer: ModelTokenizer

    def parser(
        self,
        request: ServedRequest,
        *,
        prompt: Sequence[int] | None = None,
        reasoning: ReasoningPlace = "separate",
        reasoning_over: bool = False,
        with_ids: bool = False,
    ) -> OutputParser:
        """Make the parser of a request; `prompt` is its token ids, where the engine gives them.

        The settings of the request count as far as they are switches of the template. With
        `with_ids` the texts are fed with their ids. Raises AutoparserError for tools that are not
        valid tools.
        """
        text = None if prompt is None else self.text(prompt[-_TAIL:])

        def made(settings: Mapping[str, object] | None) -> OutputParser:
            return self.learnt.parser(
                request.tools,
                prompt=text,
                chat_template_kwargs=settings,
                tool_choice=request.tool_choice,
                parallel_tool_calls=request.parallel,
                json_schema=request.json_schema,
                reasoning=reasoning,
                reasoning_over=reasoning_over,
                tokenizer=self.tokenizer if with_ids else None,
            )

        settings = self._switches_in(request)
        if settings is None:
            return made(None)
        try:
            return made(settings)
        except AutoparserError:
            if text is None:
                raise
            # A value that the template does not take, or that was not learnt: the prompt tells.
            return made(None)

    @cached_property
    def caller(self) -> OutputParser:
        """The parser of any call after the reasoning."""
        return self.learnt.parser(reasoning_over=True)

    def tag(self, request: ServedRequest, *, reasoning_apart: bool) -> dict[str, Json] | None:
        """Write what holds an answer to its tools as a structural tag; None: nothing does.

        Calls are held where one is required, named, or strict. `reasoning_apart` says that the
        engine lets a grammar begin where open reasoning has ended. What a tag cannot hold of the
        schemas of tools that are not strict is left out and logged. Raises AutoparserError for what
        cannot be written.
        """
        if not (request.forced or request.strict):
            return None
        grammar = self.learnt.grammar(
            request.tools,
            chat_template_kwargs=self._switches_in(request),
            tool_choice=request.tool_choice,
            parallel_tool_calls=request.parallel,
        )
        if reasoning_apart and opened(grammar.turn):
            grammar = replace(grammar, turn=after_reasoning(grammar.turn))
        tag = grammar.structural_tag()
        log_loosening(grammar.loosened("structural_tag"))
        return tag

    def complete(self, ids: Sequence[int]) -> bool:
        """Whether an output is all that the model meant to write, by its last token.

        Without ids nothing speaks against it.
        """
        return not ids or ids[-1] in self._ends

    @cached_property
    def _ends(self) -> frozenset[int]:
        hf = self.tokenizer.hf
        stops = [hf.token_to_id(text) for text in self.learnt.format.stop_strings]
        named = self.tokenizer.eos
        ends = named if isinstance(named, Sequence) and not isinstance(named, str) else [named]
        numbers = [hf.token_to_id(end) if isinstance(end, str) else end for end in ends]
        return frozenset(number for number in (*stops, *numbers) if number is not None)

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens with it."""
        pieces = self.tokenizer.token_bytes
        known = [pieces[id_] for id_ in ids if 0 <= id_ < len(pieces)]
        return b"".join(known).decode(errors="replace")

    def _switches_in(self, request: ServedRequest) -> dict[str, object] | None:
        names = {switch.name for switch in self.learnt.switches}
        found = {name: value for name, value in request.settings.items() if name in names}
        return found or None


def opened(turn: Turn) -> bool:
    """Whether the prompt has opened reasoning that the model goes on with."""
    return turn.start is Start.REASONING


_learning = Lock()


def served_format(tokenizer: object) -> ServedFormat:
    """Return the format of a server's model: learnt once in a process, in an isolated worker.

    It is a saved format's where `FORMAT_VARIABLE` names one. Raises AutoparserError for a template
    that is not found or cannot be analysed, and for what is not a fast tokenizer.
    """
    known = tokenizer_of(tokenizer)
    # The requests that come while the first one learns wait for it.
    with _learning:
        found = _formats.get(known)
        if found is None:
            file = os.environ.get(FORMAT_VARIABLE)
            learnt = _loaded(file) if file else _learnt(served_template(tokenizer))
            found = _formats[known] = ServedFormat(learnt, known)
        return found


_formats: WeakKeyDictionary[ModelTokenizer, ServedFormat] = WeakKeyDictionary()
"""By tokenizers; engines may hold several copies of one."""

_loaded = lru_cache(maxsize=4)(load_format)


@lru_cache(maxsize=4)
def _learnt(template: ChatTemplate) -> LearntFormat:
    return analyze(template, isolate=True)
