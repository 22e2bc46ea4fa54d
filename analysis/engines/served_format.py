"""The format of the model that a server runs: learnt once, asked with every request."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any, Literal, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import msgspec

from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.conversation import Json, function_of
from autoparser.analysis.core.errors import AutoparserError, TemplateNotFoundError, is_mapping
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import load_format
from autoparser.analysis.grammar.schema_loosening import log_loosening
from autoparser.analysis.parsing.output_parser import OutputParser, after_reasoning
from autoparser.analysis.parsing.turn_request import TurnStart, TurnTree
from autoparser.analysis.sources.template_loading import (
    held_special_tokens,
    is_template_text,
    load_template,
)
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from autoparser.analysis.templates.chat_template import ChatTemplate

# The template that a server renders with, however the server was given it.


TEMPLATE_VARIABLE = "AUTOPARSER_TEMPLATE"
"""Names the template, in all the forms that `load_template` takes; it wins."""

OPTION = "--chat-template"
"""Where both engines take a template; their other processes have the same command line."""


def served_template(
    tokenizer: object,
    *,
    environment: Mapping[str, str] = os.environ,
    arguments: Sequence[str] | None = None,
) -> ChatTemplate:
    """Find the template: the environment's, the command line's, or the tokenizer's.

    Special tokens are the tokenizer's where the source of the template has none of its own.
    Raises TemplateNotFoundError where nothing holds one, and as `load_template` does.
    """
    known = held_special_tokens(tokenizer)
    named = environment.get(TEMPLATE_VARIABLE)
    given = named or _option(sys.argv if arguments is None else arguments)
    if given:
        if not named and is_template_text(given):
            return ChatTemplate(given, known)
        found = load_template(given)
        return replace(found, special_tokens={**known, **found.special_tokens})
    held: object = getattr(tokenizer, "chat_template", None)
    if is_mapping(held):
        held = held.get("default")
    if isinstance(held, str) and held:
        return ChatTemplate(held, known)
    raise TemplateNotFoundError(
        "the server's tokenizer has no chat template",
        hint=f"start the server with {OPTION} file, or name one by {TEMPLATE_VARIABLE}",
    )


def _option(arguments: Sequence[str]) -> str | None:
    """Return the option's value; the last one counts, as for the engines."""
    found = None
    for at, argument in enumerate(arguments):
        if argument.startswith(f"{OPTION}="):
            found = argument.partition("=")[2]
        elif argument == OPTION and at + 1 < len(arguments):
            found = arguments[at + 1]
    return found


# What an engine's request asks for, as plain values; engines hold it in classes of their own.


@runtime_checkable
class _Dumps(Protocol):
    """A model of pydantic."""

    def model_dump(self) -> dict[str, object]:
        """Return it as plain values."""
        ...


@dataclass(frozen=True)
class ServedRequest:
    """What of a request decides how its answer is written and read."""

    tools: tuple[Mapping[str, object], ...] = ()
    tool_choice: object = "auto"
    parallel: bool = True
    json_schema: Mapping[str, object] | None = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """The request's `chat_template_kwargs`; the format takes those that are its switches."""

    @property
    def forced(self) -> bool:
        """Whether a call has to be made."""
        return bool(self.tools) and self.tool_choice not in ("auto", "none")

    @property
    def strict(self) -> bool:
        """Whether arguments of a call that may be made are held to a schema."""
        marked = any(function_of(tool).get("strict") is True for tool in self.tools)
        return self.tool_choice == "auto" and marked


def served_request(
    request: object,
    *,
    tools: Sequence[object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> ServedRequest:
    """Read a request of Chat Completions or Responses; `tools` stand for its own where given."""
    offered: Any = getattr(request, "tools", None) if tools is None else tools
    choice = _plain(getattr(request, "tool_choice", None))
    plain = tuple(map(_tool, offered or ()))
    return ServedRequest(
        tools=plain,
        tool_choice="none" if not plain else choice or "auto",
        parallel=getattr(request, "parallel_tool_calls", None) is not False,
        json_schema=_answer_schema(_plain(getattr(request, "response_format", None))),
        settings=settings or {},
    )


def _plain(value: object) -> object:
    if isinstance(value, msgspec.Struct):
        # SGLang's native endpoints have such; as builtins they would be arrays without names.
        return {name: _plain(each) for name, each in msgspec.structs.asdict(value).items()}
    return value.model_dump() if isinstance(value, _Dumps) else value


def _tool(tool: object) -> Mapping[str, object]:
    """Return a tool as Chat Completions have it; Responses have no `function` around it."""
    plain: Any = _plain(tool)
    function = plain.get("function")
    if not is_mapping(function):
        function = {name: value for name, value in plain.items() if name != "type"}
    kept = {name: value for name, value in function.items() if value is not None}
    return {"type": "function", "function": kept}


def _answer_schema(form: object) -> Mapping[str, object] | None:
    if not is_mapping(form):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    if form.get("type") != "json_schema":
        return None
    held = form.get("json_schema")
    described = held if is_mapping(held) else form
    schema = described.get("json_schema", described.get("schema"))
    return schema if is_mapping(schema) else None


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
        if reasoning_apart and prompt_opens_reasoning(grammar.turn):
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


def prompt_opens_reasoning(turn: TurnTree) -> bool:
    """Whether the prompt has opened reasoning that the model goes on with."""
    return turn.start is TurnStart.REASONING


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
