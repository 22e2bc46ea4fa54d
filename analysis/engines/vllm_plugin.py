"""Implement vLLM's parser interfaces, and register them: the entry point `vllm.general_plugins`.

Only `register`, which vLLM calls in each of its processes, imports vLLM: it makes vLLM's classes of
those here, which need only the classes of messages, `VllmMessages`. Texts contain special tokens
(`adjust_request` asks for that) and come with their ids.

A tool parser and a reasoning parser (`ToolHalf`, `ReasoningHalf`) read an answer in two halves. If
both are this plugin's, or one of them is the only one, `WholeParser` reads the whole answer.

For example, the deltas of a call become one entry of vLLM's message, and a later piece another:

    delta_message([CALL "f", ARGUMENTS '{"a"', ARGUMENTS ': 1}'])
    ->  tool_calls [id "c1", index 0, name "f", arguments '{"a": 1}']
    delta_message([ARGUMENTS ': 1}'])  ->  tool_calls [index 0, arguments ': 1}']
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.grammar.structural_tag import choice_tag, constant_tag
from autoparser.analysis.parsing.marker_tokens import (
    ReasoningEnd,
    ReasoningProgress,
    ReasoningState,
)
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage
from autoparser.analysis.parsing.stream_parser import StreamParser
from autoparser.analysis.parsing.turn_request import RequestError

from .output_watch import process_watch
from .served_format import (
    GrammarStart,
    ReasoningPlace,
    ServedFormat,
    ServedRequest,
    prompt_opens_reasoning,
    reasoning_deltas,
    served_format,
    served_request,
    tells_tokens_apart,
)

NAME = "autoparser"
"""The name of both parsers, for `--tool-call-parser` and `--reasoning-parser`."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class VllmMessages:
    """vLLM's classes of a parser's results."""

    delta: Callable[..., Any]
    """`DeltaMessage`."""
    delta_call: Callable[..., Any]
    """`DeltaToolCall`."""
    delta_function: Callable[..., Any]
    """`DeltaFunctionCall`."""
    call: Callable[..., Any]
    """`ToolCall`."""
    function: Callable[..., Any]
    """`FunctionCall`."""
    extracted: Callable[..., Any]
    """`ExtractedToolCallInformation`."""
    constraint: Callable[..., Any]
    """`StructuredOutputsParams`."""

    def delta_message(self, deltas: Iterable[Delta], *, reasoning: bool = True) -> object | None:
        """Return deltas as one message, or None if it would be empty."""
        texts = {DeltaKind.CONTENT: "", DeltaKind.REASONING: ""}
        calls: list[Any] = []
        for delta in deltas:
            match delta.kind:
                case DeltaKind.CALL:
                    function = self.delta_function(name=delta.text, arguments="")
                    calls.append(
                        self.delta_call(
                            id=delta.id, type="function", index=delta.index, function=function
                        )
                    )
                # A message has at most one entry for a call.
                case DeltaKind.ARGUMENTS if calls and calls[-1].index == delta.index:
                    calls[-1].function.arguments += delta.text
                case DeltaKind.ARGUMENTS:
                    function = self.delta_function(arguments=delta.text)
                    calls.append(self.delta_call(index=delta.index, function=function))
                case DeltaKind.FINISH:
                    pass
                case kind:
                    texts[kind] += delta.text
        thought = texts[DeltaKind.REASONING] if reasoning else ""
        # For None, vLLM sends no event.
        if not (texts[DeltaKind.CONTENT] or thought or calls):
            return None
        made: object = self.delta(
            content=texts[DeltaKind.CONTENT] or None, reasoning=thought or None, tool_calls=calls
        )
        return made

    def streamed_functions(self, message: ParsedMessage) -> list[Any]:
        """Return a message's calls, as a stream sends them."""
        return [
            self.function(id=call.sent_id or None, name=call.name, arguments=call.arguments)
            for call in message.begun_calls
        ]


def with_special_tokens(request: Any) -> Any:
    """Ask vLLM to keep special tokens in the text: without markers it cannot be parsed."""
    if hasattr(request, "skip_special_tokens"):
        request.skip_special_tokens = False
    return request


def with_tag(
    request: Any,
    served: ServedRequest,
    served_format: ServedFormat,
    messages: VllmMessages,
    *,
    apart: bool,
) -> Any:
    """Constrain the answer as a whole if the request constrains its calls or its content.

    vLLM would hold the answer to a schema from its first token on where the prompt has not opened
    the reasoning: then a model that opens it itself cannot reason. The tag has the reasoning before
    the content. Raises ValueError, which vLLM answers with status 400, if calls cannot be
    constrained; a constraint of content that no tag can say is left to vLLM.
    """
    # The client's own constraint may allow no call, so a required call goes first.
    given = getattr(request, "structured_outputs", None)
    if given is not None and not served.forced:
        served = replace(served, **_content_constraint(given))
        if served.content is None:
            return request
    try:
        start: GrammarStart = "after the reasoning" if apart else "the prompt's end"
        tag = served_format.tag(served, start, with_ids=True)
    except AutoparserError as error:
        if served.content is not None and not (served.forced or served.strict):
            _LOG.warning("the schema of an answer is left to vLLM: %s", error)
            return request
        raise ValueError(f"the answer cannot be constrained: {error}") from error
    if tag is None:
        return request
    request.structured_outputs = messages.constraint(structural_tag=json.dumps(tag))
    # vLLM would constrain the content a second time, from its first token on.
    if hasattr(request, "response_format"):
        request.response_format = None
    return request


def _reads_ids(request: Any) -> bool:
    """Return whether an answer is read by its ids: spelled, a marker is content then.

    Not so where a constraint whose markers are text may have let it be spelled.
    """
    return getattr(request, "structured_outputs", None) is None or tells_tokens_apart()


def _content_constraint(given: Any) -> dict[str, Any]:
    """Return vLLM's own constraint of the content as fields of a `ServedRequest`."""
    schema, pattern, choices = (getattr(given, name, None) for name in ("json", "regex", "choice"))
    if schema is not None:
        return {"json_schema": json.loads(schema) if isinstance(schema, str) else schema}
    if getattr(given, "json_object", None):
        return {"json_schema": {"type": "object"}}
    if pattern is not None:
        return {"content_tag": {"type": "regex", "pattern": pattern}}
    if choices is not None:
        return {"content_tag": choice_tag([constant_tag(choice) for choice in choices])}
    return {}


class _ServedParser:
    """The state that all parsers of a request share: format, settings, prompt, stream.

    A parser comes before vLLM's own class in the class order and calls its constructor.
    """

    messages: VllmMessages
    """vLLM's classes, which `register` sets."""

    def __init__(self, tokenizer: object, *args: Any, **kwargs: Any) -> None:
        """Store the arguments that vLLM passes with every request."""
        after: Any = super()
        after.__init__(tokenizer, *args, **kwargs)
        self._served_format = served_format(tokenizer)
        self._settings: Mapping[str, object] = kwargs.get("chat_template_kwargs") or {}
        self._prompt: Sequence[int] | None = None
        self._stream: StreamParser | None = None
        self._by_ids = True

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Count the ids of the reasoning and the text that ends it; 0 if nothing ends it."""
        request = ServedRequest(settings=self._settings)
        parser = self._served_format.parser(request, prompt=self._prompt, with_ids=True)
        try:
            end = parser.reasoning_end_by_ids()
        except RequestError:
            return 0
        state = end.after(end.begin, token_ids)
        return 0 if state.thinking is ReasoningProgress.UNDECIDED else state.ids


class WholeParser(_ServedParser):
    """Reads a whole answer: reasoning, content and calls, given the prompt."""

    reasoning_parser_cls: object
    """vLLM's reasoning parser of the pair, or None."""
    tool_parser_cls: object
    """vLLM's tool parser of the pair, or None."""
    always_adjust_request = True
    _last: Sequence[int] = ()
    """The ids of the last piece that had any, whose last one shows whether the answer is whole."""

    @property
    def _place(self) -> ReasoningPlace:
        # Without a reasoning parser, vLLM leaves reasoning unchanged in the content.
        return "separate" if self.reasoning_parser_cls is not None else "raw"

    def _served_request(self, request: Any, *, calls: bool = True) -> ServedRequest:
        # Without a call parser, vLLM leaves calls in the content, and so does this one.
        offered = None if calls and self.tool_parser_cls is not None else ()
        return served_request(request, tools=offered, settings=self._settings)

    def adjust_request(self, request: Any) -> Any:
        """Keep special tokens in the text, and constrain calls as requested."""
        # Without reasoning in the answer, vLLM constrains from the first token.
        apart = self.reasoning_parser_cls is not None
        apart = apart and getattr(request, "include_reasoning", True)
        served = self._served_request(request)
        request = with_tag(request, served, self._served_format, self.messages, apart=apart)
        return with_special_tokens(request)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Store the token ids of the prompt."""
        self._prompt = prompt_token_ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Return whether a grammar applies from the first token after a prompt on.

        It does unless the prompt has opened the reasoning: the grammar allows reasoning that the
        model opens itself.
        """
        parser = self._served_format.parser(
            ServedRequest(settings=self._settings), prompt=input_ids
        )
        return not prompt_opens_reasoning(parser.turn)

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[Any] | None]:
        """Parse a whole answer into reasoning, content and calls."""
        ids = [*model_output_token_ids]
        read = ids if ids and _reads_ids(request) else None
        parser = self._served_format.parser(
            self._served_request(request, calls=enable_auto_tools),
            prompt=self._prompt,
            reasoning=self._place,
            with_ids=read is not None,
        )
        message = parser.parse(model_output, complete=self._served_format.complete(ids), ids=read)
        process_watch().note(message)
        calls = self.messages.streamed_functions(message)
        return message.reasoning_content, message.content, calls

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> object | None:
        """Parse the next piece of an answer, and the rest once it is finished."""
        if self._stream is None:
            prompt = self._prompt if prompt_token_ids is None else prompt_token_ids
            self._by_ids = _reads_ids(request)
            parser = self._served_format.parser(
                self._served_request(request),
                prompt=prompt,
                reasoning=self._place,
                with_ids=self._by_ids,
            )
            self._stream = parser.stream()
        ids = delta_token_ids if self._by_ids else None
        deltas = self._stream.feed(delta_text, ids or None)
        # The last piece may have no ids.
        self._last = delta_token_ids or self._last
        if finished:
            deltas += self._stream.finish(complete=self._served_format.complete(self._last))
            process_watch().note(self._stream.message)
        return self.messages.delta_message(deltas, reasoning=request.include_reasoning)


class ToolHalf(_ServedParser):
    """Reads calls in the text that another reasoning parser has left."""

    supports_required_and_named = False
    engine_based_streaming = True

    def adjust_request(self, request: Any) -> Any:
        """Keep special tokens in the text, and constrain calls as requested."""
        asked = served_request(request)
        request = with_tag(request, asked, self._served_format, self.messages, apart=True)
        return with_special_tokens(request)

    def extract_tool_calls(self, model_output: str, request: Any) -> object:
        """Parse the calls of a whole answer and the remaining content."""
        parser = self._served_format.parser(served_request(request), reasoning_over=True)
        message = parser.parse(model_output)
        process_watch().note(message)
        calls = [
            self.messages.call(function=function, **({"id": function.id} if function.id else {}))
            for function in self.messages.streamed_functions(message)
        ]
        return self.messages.extracted(
            tools_called=bool(calls), tool_calls=calls, content=message.content
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> object | None:
        """Parse the next piece of an answer."""
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        if self._stream is None:
            parser = self._served_format.parser(served_request(request), reasoning_over=True)
            self._stream = parser.stream()
        return self.messages.delta_message(self._stream.feed(delta_text))

    def finish_streaming(self) -> object | None:
        """Return the text that was held back until the end."""
        if self._stream is None:
            return None
        deltas = self._stream.finish()
        process_watch().note(self._stream.message)
        return self.messages.delta_message(deltas)


class ReasoningHalf(_ServedParser):
    """Reads reasoning, and leaves the rest unchanged to another tool parser.

    vLLM's core also asks it between two steps of generation: if the prompt has opened the
    reasoning, a grammar begins once the ids have closed it.
    """

    engine_based_streaming = True

    def __init__(self, tokenizer: object, *args: Any, **kwargs: Any) -> None:
        """Store the arguments that vLLM passes to a reasoning parser with every request."""
        super().__init__(tokenizer, *args, **kwargs)
        self._plain_request = ServedRequest(settings=self._settings)
        self._end: ReasoningEnd | None = None
        self._states: dict[int, ReasoningState] = {}
        self._text = ""
        self._over = False

    @property
    def reasoning_start_str(self) -> str | None:
        """The text that opens reasoning."""
        return self._served_format.reasoning_markers[0] or None

    @property
    def reasoning_end_str(self) -> str | None:
        """The text that closes reasoning."""
        return self._served_format.reasoning_markers[1] or None

    def adjust_request(self, request: Any) -> Any:
        """Keep special tokens in the text."""
        return with_special_tokens(request)

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """Store the token ids of the prompt."""
        self._prompt = prompt_token_ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Return whether an answer after this prompt has no reasoning."""
        self._prompt = input_ids
        return self._reasoning_end(input_ids).begin.over

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Return whether the last ids end the reasoning, in time proportional to their number.

        vLLM also asks about fewer ids than before, when it rejects ids that it had guessed.
        """
        new = list(delta_ids)
        before = len(input_ids) - len(new)
        end = self._reasoning_end(None)
        known = max((at for at in self._states if at <= before), default=None)
        # The first ids that vLLM passes are the beginning of the answer.
        state = end.begin if known is None else self._states[known]
        if known is not None and known < before:
            state = end.after(state, input_ids[known:before])
        # The first entry is for ids that vLLM takes back.
        self._states = {before: state, len(input_ids): end.after(state, new)}
        return self._states[len(input_ids)].over

    def _reasoning_end(self, prompt: Sequence[int] | None) -> ReasoningEnd:
        if self._end is None or prompt is not None:
            parser = self._served_format.parser(self._plain_request, prompt=prompt, with_ids=True)
            self._end = parser.reasoning_end_by_ids()
        return self._end

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Return the ids after the reasoning."""
        end = self._reasoning_end(None)
        state = end.after(end.begin, input_ids)
        return input_ids[state.ids :] if state.over else []

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Parse the reasoning of a whole answer; return it and the unchanged rest."""
        del request
        parser = self._served_format.parser(self._plain_request, prompt=self._prompt)
        message = parser.parse(model_output)
        end = message.reasoning_end
        # An answer that ends in its reasoning has only that; one without any has only content.
        if end is None:
            end = len(model_output) if message.reasoning_content else 0
        return message.reasoning_content, model_output[end:] or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> object | None:
        """Parse the next piece of an answer; after the reasoning the rest comes unchanged."""
        del previous_text, current_text, previous_token_ids, current_token_ids, delta_token_ids
        if self._stream is None:
            self._stream = self._served_format.parser(
                self._plain_request, prompt=self._prompt
            ).stream()
        self._text += delta_text
        thought, end = reasoning_deltas(self._stream, self._stream.feed(delta_text))
        if end is None:
            return self.messages.delta_message(thought)
        self._over = True
        rest = Delta(DeltaKind.CONTENT, self._text[end:])
        return self.messages.delta_message([*thought, rest])

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Return whether reasoning has ended in the text so far."""
        return self._over

    def finish_streaming(self) -> object | None:
        """Return the text that was held back until the end, or None after the reasoning."""
        if self._stream is None or self._over:
            return None
        return self.messages.delta_message(self._stream.finish())


def register() -> None:
    """Register both parsers, and the whole one where both names, or the only one, are ours.

    vLLM has no registry of whole parsers: its manager composes one of the pair, and what it has
    composed is put behind `WholeParser`. A vLLM without that manager has the pair.
    """
    protocol: Any = import_module("vllm.entrypoints.generate.base.protocol")
    messages = VllmMessages(
        delta=protocol.DeltaMessage,
        delta_call=protocol.DeltaToolCall,
        delta_function=protocol.DeltaFunctionCall,
        call=protocol.ToolCall,
        function=protocol.FunctionCall,
        extracted=protocol.ExtractedToolCallInformation,
        constraint=_attribute("vllm.sampling_params", "StructuredOutputsParams"),
    )
    tools, thoughts = (
        _attribute("vllm.tool_parsers", "ToolParserManager"),
        _attribute("vllm.reasoning", "ReasoningParserManager"),
    )
    tool_base = _attribute("vllm.tool_parsers.abstract_tool_parser", "ToolParser")
    thought_base = _attribute("vllm.reasoning.abs_reasoning_parsers", "ReasoningParser")
    given = {"messages": messages}
    tools.register_module(NAME, module=type("AutoparserToolParser", (ToolHalf, tool_base), given))
    thoughts.register_module(
        NAME, module=type("AutoparserReasoningParser", (ReasoningHalf, thought_base), given)
    )
    _compose_whole(messages)
    log_as_server()


def log_as_server() -> None:
    """Send this package's log records to the log of the server.

    vLLM gives a handler to its own logger alone, and the root of a running server (0.32) takes
    errors only, so that a warning of another package shows nowhere.
    """
    log = logging.getLogger("autoparser")
    if not any(isinstance(handler, _ServerLog) for handler in log.handlers):
        log.addHandler(_ServerLog())
        log.setLevel(logging.WARNING)
        # Otherwise a server that does configure the root logs each line twice.
        log.propagate = False


class _ServerLog(logging.Handler):
    """Hands records to vLLM's logger, whatever its handlers are by then."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record to vLLM's handlers."""
        logging.getLogger("vllm").handle(record)


def _attribute(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _compose_whole(messages: VllmMessages) -> None:
    """Make vLLM's manager put the whole parser in front of a pair of ours."""
    try:
        manager = _attribute("vllm.parser.parser_manager", "ParserManager")
    except (ImportError, AttributeError):
        return
    composed: Any = getattr(manager, "_compose_parser", None)
    if composed is None or getattr(composed, "autoparser", False):
        return

    def compose(cls: type, *args: Any, **options: Any) -> Any:
        names = {options.get("tool_parser_name"), options.get("reasoning_parser_name")}
        # Beside another parser, each half does its own part.
        ours = names - {None, ""} == {NAME}
        if ours and "is_harmony" in options:
            # For gpt-oss models, vLLM creates its Harmony parser, which rejects every pair but its
            # own: the server would not start.
            options["is_harmony"] = False
        pair = composed.__func__(cls, *args, **options)
        if pair is None or not ours:
            return pair
        return type("AutoparserParser", (WholeParser, pair), {"messages": messages})

    compose.autoparser = True  # type: ignore[attr-defined] # registered twice, it wraps once
    manager._compose_parser = classmethod(compose)  # noqa: SLF001 - there is no public way
