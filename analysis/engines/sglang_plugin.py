"""Implement SGLang's detector interfaces, and register them: the entry point `sglang.srt.plugins`.

Only `register`, which SGLang calls in each of its processes, imports SGLang. SGLang reads an answer
in two halves, and passes neither the prompt nor the request to a detector. Hooks in its chat
endpoint, by its own registry of hooks, do:

    effective tools of a request     ->  RequestTools: the tools, and the request with its prompt
    ReasoningParser(request=...)     ->  ReasoningDetector.know(request)
    does the prompt open reasoning?  ->  what the template writes under the request's settings
    a request before it is rendered  ->  special tokens are kept in the text
    a JSON schema, a pattern         ->  a structural tag that has the reasoning before the content

Without them (another endpoint, a release that has none), whether a prompt has opened reasoning is
inferred from the template's own prompts.

For example, the deltas of a call become SGLang's items, without an id and with the name apart:

    call_pieces([CALL "f", ARGUMENTS '{"a"', ARGUMENTS ': 1}'])
    ->  normal_text "", calls (0, "f", ""), (0, '{"a"'), (0, ': 1}')
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind
from autoparser.analysis.parsing.stream_parser import StreamParser

from .output_watch import process_watch
from .served_format import (
    GrammarStart,
    ServedFormat,
    ServedRequest,
    prompt_opens_reasoning,
    reasoning_deltas,
    served_format,
    served_request,
)

NAME = "autoparser"
"""The name of both parsers, for `--tool-call-parser` and `--reasoning-parser`."""

SWITCHES = ("thinking", "enable_thinking")
"""The switches of reasoning whose values SGLang 0.5.23 reads in a request for a detector."""

PROMPT_TAIL = 16_384
"""Characters at the end of a prompt that are read: the begun turn and text before it."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SglangResults:
    """SGLang's classes of a detector's results."""

    calls: Callable[..., Any]
    """`StreamingParseResult` of tool detectors."""
    call: Callable[..., Any]
    """`ToolCallItem`."""
    reasoning: Callable[..., Any]
    """`StreamingParseResult` of reasoning detectors."""
    tag: Callable[[object], object]
    """Converts a structural tag, `{"type": "structural_tag", …}`, to the class of xgrammar."""

    def call_pieces(self, deltas: Sequence[Delta]) -> Any:
        """Return deltas as text and pieces of calls; a call's index is its number."""
        text = "".join(delta.text for delta in deltas if delta.kind is DeltaKind.CONTENT)
        calls: list[Any] = []
        for delta in deltas:
            if delta.kind is DeltaKind.CALL:
                calls.append(self.call(tool_index=delta.index, name=delta.text, parameters=""))
            elif delta.kind is DeltaKind.ARGUMENTS:
                calls.append(self.call(tool_index=delta.index, parameters=delta.text))
        return self.calls(normal_text=text, calls=calls)


@dataclass(frozen=True)
class _Offer:
    """The fields of a request that `served_request` reads."""

    tools: Sequence[object] | None
    """The offered tools, in SGLang's class, e.g. one with the function `get_weather`."""
    tool_choice: object = "auto"
    """`"auto"`, `"required"`, or an object that names a tool."""
    parallel_tool_calls: bool = True
    """Whether one answer may have several calls."""


@dataclass(frozen=True)
class KnownRequest:
    """A request as the hooks see it."""

    served: ServedRequest
    """The request as plain values, e.g. with the tool choice `"none"`."""
    start: GrammarStart
    """Where SGLang begins to constrain its answer, e.g. `"after the reasoning"`."""
    prompt: str | None
    r"""The end of its rendered prompt, e.g. `"<|im_start|>assistant\n"`, or None before it is
    rendered."""


class RequestTools(list[object]):
    """The tools of a request, which SGLang hands to a detector of calls, and the request."""

    def __init__(self, tools: Sequence[object], known: KnownRequest) -> None:
        """Store the request."""
        super().__init__(tools)
        self.known = known


class ToolDetector:
    """Reads calls in the text after the reasoning."""

    results: SglangResults
    """SGLang's classes, which `register` sets."""

    def __init__(self, tokenizer: object = None) -> None:
        """Load the format by the server's tokenizer."""
        super().__init__()
        self._served_format = served_format(tokenizer)
        self._stream: StreamParser | None = None
        self._text = ""

    def _parser(self, tools: Sequence[object]) -> OutputParser:
        if not isinstance(tools, RequestTools):
            # Without the hooks, tools come as a plain list, and nothing else is known of the
            # request.
            return self._served_format.parser(served_request(_Offer(tools)), reasoning_over=True)
        known = tools.known
        return self._served_format.parser(known.served, prompt=known.prompt, reasoning_over=True)

    def _running_stream(self, tools: Sequence[object]) -> StreamParser:
        if self._stream is None:
            self._stream = self._parser(tools).stream()
        return self._stream

    def has_tool_call(self, text: str) -> bool:
        """Whether there can be a call in a text."""
        return self._served_format.caller.may_hold_call(text)

    def detect_and_parse(self, text: str, tools: Sequence[object]) -> Any:
        """Parse a whole text."""
        parser = self._parser(tools)
        message = self._served_format.cut_message(parser, text) or parser.parse(text)
        process_watch().note(message)
        calls = [
            self.results.call(tool_index=index, name=call.name, parameters=call.arguments)
            for index, call in enumerate(message.begun_calls)
        ]
        return self.results.calls(normal_text=message.content or "", calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: Sequence[object]) -> Any:
        """Parse the next piece."""
        self._text += new_text
        return self.results.call_pieces(self._running_stream(tools).feed(new_text))

    def finish(self, tools: Sequence[object]) -> Any:
        """Return the text that was held back until the end."""
        # SGLang passes no finish reason here, so detect truncation from the whole text.
        cut = self._served_format.cut_message(self._parser(tools), self._text)
        stream = self._running_stream(tools)
        deltas = stream.finish(complete=cut is None)
        process_watch().note(stream.message)
        return self.results.call_pieces(deltas)

    def structure_info(self) -> Callable[[str], Any]:
        """Raise ValueError; SGLang asks only if `get_structural_tag` returns None."""
        raise ValueError("autoparser writes only structural tags with a format")

    def supports_structural_tag(self) -> bool:
        """Return True: constrained calls keep the format's own notation."""
        return True

    def parses_required_natively(self) -> bool:
        """Return True: a required call is read like any other."""
        return True

    def get_structural_tag(
        self,
        tools: Sequence[object] | None = None,
        tool_choice: object = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
    ) -> object | None:
        """Constrain the answer to its tools, with or without the reasoning before it.

        Whether SGLang waits for the reasoning's end it tells no detector: where no hook says so,
        the tag fits either place. `thinking_mode` is true only without a reasoning parser. Raises
        ValueError if no tag can be written.
        """
        request = served_request(_Offer(tools, tool_choice, parallel_tool_calls))
        start: GrammarStart = "the prompt's end" if thinking_mode else "anywhere"
        if isinstance(tools, RequestTools):
            request = replace(request, settings=tools.known.served.settings)
            start = tools.known.start
        try:
            tag = self._served_format.tag(request, start)
        except AutoparserError as error:
            raise ValueError(f"the calls cannot be constrained: {error}") from error
        return None if tag is None else self.results.tag(tag)


class ReasoningDetector:
    """Reads reasoning, and leaves the rest unchanged to the tool detector if there is one.

    SGLang asks a tool detector if tools are offered and, for a whole answer, only if the rest may
    contain a call. If it asks none, a user sees the rest: it is read here, too, without the
    whitespace that the template writes between reasoning and content.
    """

    results: SglangResults
    """SGLang's classes, which `register` sets."""

    def __init__(
        self,
        tokenizer: object = None,
        *,
        tool_call_parser_active: bool = False,
        force_reasoning: bool | None = None,
        **others: Any,
    ) -> None:
        """Load the format; `force_reasoning` is what SGLang infers from the request."""
        self._served_format = served_format(tokenizer)
        self._read_on = tool_call_parser_active
        self._served = ServedRequest(settings=self._request_settings(force_reasoning))
        self._prompt: str | None = None
        opener, closer = self._served_format.reasoning_markers
        # SGLang's class is only the base of the class that `register` makes, so its signature is
        # unknown here.
        after: Any = super()
        after.__init__(
            think_start_token=opener,
            think_end_token=closer,
            reasoning_default=self._default_mode(),
            force_reasoning=bool(force_reasoning),
            **others,
        )
        self._stream: StreamParser | None = None
        self._text = ""
        self._over = False

    def _default_mode(self) -> str | None:
        """Return the requests with open reasoning, in SGLang's terms, or None for none of them.

        SGLang asks where it infers no switch from the template itself, and knows two names of one.
        """
        settings_for = self._served_format.settings_that_open
        opening, leaving = settings_for(reasoning=True), settings_for(reasoning=False)
        if {} in opening:
            # A switch that leaves reasoning closed can turn it off; without one it is always open.
            return next((name for name in SWITCHES if {name: False} in leaving), "always")
        # If the model opens reasoning itself, a grammar applies from the first token on.
        return next((f"explicit_{name}" for name in SWITCHES if {name: True} in opening), None)

    def _request_settings(self, opened: bool | None) -> Mapping[str, object]:
        """Return a setting whose prompt opens reasoning if the request's prompt does."""
        if opened is None:
            return {}
        nothing: Mapping[str, object] = {}
        return next(iter(self._served_format.settings_that_open(reasoning=opened)), nothing)

    def know(self, request: object) -> None:
        """Use the request's own prompt in place of what SGLang infers."""
        prompt = getattr(request, "_response_parser_prefix", None)
        if prompt:
            self._served = served_request(request, settings=_prompt_variables(request))
            self._prompt = prompt

    def _parser(self, *, calls: bool) -> OutputParser:
        # Without tools in the request, what looks like a call stays in the content.
        served = self._served if calls else replace(self._served, tool_choice="none", tools=())
        return self._served_format.parser(served, prompt=self._prompt)

    def _running_stream(self) -> StreamParser:
        if self._stream is None:
            self._stream = self._parser(calls=self._read_on).stream()
        return self._stream

    def detect_and_parse(self, text: str) -> Any:
        """Parse a whole text."""
        # A finished stream takes no further text.
        self._stream, self._text, self._over = None, "", False
        found = self.parse_streaming_increment(text)
        rest = self.finish()
        thought = found.reasoning_text + rest.reasoning_text
        normal = found.normal_text + rest.normal_text
        if self._read_on and not self._served_format.caller.may_hold_call(normal):
            normal = self._parser(calls=False).parse(text).content or ""
        return self.results.reasoning(normal_text=normal, reasoning_text=thought)

    def parse_streaming_increment(self, new_text: str) -> Any:
        """Parse the next piece; text for a tool detector is passed on unchanged."""
        if self._over:
            return self.results.reasoning(normal_text=new_text)
        self._text += new_text
        return self._reasoning_result(self._running_stream().feed(new_text))

    def _reasoning_result(self, deltas: Sequence[Delta]) -> Any:
        reasoning, end = reasoning_deltas(self._running_stream(), deltas)
        thought = "".join(delta.text for delta in reasoning)
        if not self._read_on:
            content = "".join(delta.text for delta in deltas if delta.kind is DeltaKind.CONTENT)
            return self.results.reasoning(normal_text=content, reasoning_text=thought)
        # Pass on all further text unparsed, since markers in it are for the call parser.
        self._over = end is not None
        return self.results.reasoning(
            normal_text="" if end is None else self._text[end:], reasoning_text=thought
        )

    def finish(self) -> Any:
        """Return the text that was held back until the end; empty after the reasoning."""
        if self._over or self._stream is None:
            return self.results.reasoning()
        return self._reasoning_result(self._stream.finish())


def _prompt_variables(request: Any) -> dict[str, object]:
    """Return the variables that a request's prompt is rendered with."""
    given: dict[str, object] = dict(getattr(request, "chat_template_kwargs", None) or {})
    effort = getattr(request, "reasoning_effort", None)
    return given if effort is None else {"reasoning_effort": effort, **given}


def _server_format(serving: Any) -> ServedFormat:
    return served_format(serving.tokenizer_manager.tokenizer)


def _grammar_start(serving: Any) -> GrammarStart:
    match serving.reasoning_parser:
        case None | "":
            return "the prompt's end"
        case name:
            # With this package's reasoning parser, `opens_reasoning` decides.
            return "after the reasoning" if name == NAME else "anywhere"


def opens_reasoning(original: Callable[..., bool], serving: Any, request: Any) -> bool:
    """Return whether a request's prompt opens reasoning, whose end SGLang then waits for.

    SGLang infers it from words in the template and two names of switches.
    """
    if serving.reasoning_parser == NAME:
        served = served_request(request, settings=_prompt_variables(request))
        try:
            return prompt_opens_reasoning(_server_format(serving).parser(served).turn)
        except AutoparserError:  # of tools or values that the next step refuses
            pass
    return original(serving, request)


def keep_special_tokens(serving: Any, request: Any, *_: Any, **__: Any) -> None:
    """Keep special tokens in the text: without markers no reasoning is found in it."""
    if serving.reasoning_parser == NAME and getattr(request, "separate_reasoning", True):
        request.skip_special_tokens = False


def know_tools(tools: Sequence[object], serving: Any, request: Any) -> Sequence[object]:
    """Return a request's tools with the request."""
    # Another parser gets the tools unchanged.
    if serving.tool_call_parser != NAME:
        return tools
    served = served_request(request, tools=tools, settings=_prompt_variables(request))
    prompt = getattr(request, "_response_parser_prefix", None) or None
    return RequestTools(tools, KnownRequest(served, _grammar_start(serving), prompt))


def know_prompt(result: tuple[Any, Any], serving: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Store the prompt's end for the detectors, and constrain the content by a tag."""
    asked, request = result
    if NAME in (serving.tool_call_parser, serving.reasoning_parser):
        text, ids = asked.text, asked.input_ids
        if isinstance(text, str):
            request._response_parser_prefix = text[-PROMPT_TAIL:]  # noqa: SLF001 - SGLang's own detectors have it there
        elif ids and isinstance(ids[0], int):
            request._response_parser_prefix = _server_format(serving).tail_text(ids)  # noqa: SLF001
    if serving.reasoning_parser == NAME:
        _hold_content(asked.sampling_params, serving, request)
    return result


def _hold_content(sampling: dict[str, Any], serving: Any, request: Any) -> None:
    """Constrain the content of an answer by a tag that has the reasoning before it.

    SGLang would hold the answer from its first token on where the prompt has not opened the
    reasoning, and right from the marker on where it has: then no reasoning, or no line break.
    """
    served = served_request(request, settings=_prompt_variables(request))
    pattern = sampling.get("regex")
    if pattern:
        served = replace(served, content_tag={"type": "regex", "pattern": pattern})
    if served.content is None or not (pattern or sampling.get("json_schema")):
        return
    try:
        tag = _server_format(serving).tag(served, "after the reasoning")
    except AutoparserError as error:
        _LOG.warning("the form of an answer is left to SGLang: %s", error)
        return
    # SGLang accepts one constraint per request, and the tag includes these two.
    for name in ("regex", "json_schema"):
        sampling.pop(name, None)
    sampling["structural_tag"] = json.dumps(tag)


def tell_detector(
    result: None,
    parser: Any,
    model_type: object = None,
    stream_reasoning: object = True,
    force_reasoning: object = None,
    request: object = None,
    *_: Any,
    **__: Any,
) -> None:
    """Pass the request on to the detector of reasoning."""
    del result, model_type, stream_reasoning, force_reasoning
    if isinstance(parser.detector, ReasoningDetector) and request is not None:
        parser.detector.know(request)


_CHAT = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"
HOOKED: Mapping[str, tuple[str, Callable[..., Any]]] = {
    f"{_CHAT}._get_reasoning_from_request": ("AROUND", opens_reasoning),
    f"{_CHAT}._process_messages": ("BEFORE", keep_special_tokens),
    f"{_CHAT}._effective_tools": ("AFTER", know_tools),
    f"{_CHAT}._convert_to_internal_request": ("AFTER", know_prompt),
    "sglang.srt.parser.reasoning_parser.ReasoningParser.__init__": ("AFTER", tell_detector),
}
"""Hooks by their place in SGLang: the kind of hook, and the function."""


def register() -> None:
    """Register both detectors, and the hooks that tell them of requests."""
    core: Any = import_module("sglang.srt.function_call.core_types")
    base: Any = import_module("sglang.srt.function_call.base_format_detector")
    calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    thoughts: Any = import_module("sglang.srt.parser.reasoning_parser")
    results = SglangResults(
        calls=core.StreamingParseResult,
        call=core.ToolCallItem,
        reasoning=thoughts.StreamingParseResult,
        tag=_tag,
    )
    # Our classes come first, so that their methods override SGLang's.
    given = {"results": results}
    calls.FunctionCallParser.ToolCallParserEnum[NAME] = type(
        "AutoparserToolDetector", (ToolDetector, base.BaseFormatDetector), given
    )
    bases = ReasoningDetector, thoughts.BaseReasoningFormatDetector
    thoughts.ReasoningParser.DetectorMap[NAME] = type("AutoparserReasoningDetector", bases, given)
    try:
        hooks: Any = import_module("sglang.srt.plugins.hook_registry")
    except ImportError:
        _LOG.warning("this SGLang has no hooks: its detectors do not receive the request")
        return
    for place, (kind, hook) in HOOKED.items():
        hooks.HookRegistry.register(place, hook, hooks.HookType[kind])


def _tag(tag_value: object) -> object:
    """Return a structural tag as xgrammar's class, which SGLang brings."""
    xgrammar: Any = import_module("xgrammar")
    return xgrammar.StructuralTag.model_validate(tag_value)
