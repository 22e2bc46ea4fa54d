"""Implement SGLang's detector interfaces, and register them: the entry point `sglang.srt.plugins`.

Only `register`, which SGLang calls in each of its processes, imports SGLang. SGLang reads an answer
in two halves and passes the prompt to neither: whether it has opened reasoning is inferred from the
template's own prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.parsing.output_parser import OutputParser, StreamParser
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind

from .output_watch import process_watch
from .served_format import ServedRequest, reasoning_deltas, served_format, served_request

NAME = "autoparser"
"""What `--tool-call-parser` and `--reasoning-parser` are given."""

SWITCHES = ("thinking", "enable_thinking")
"""The switches of reasoning whose values SGLang 0.5.23 reads in a request for a detector."""


@dataclass(frozen=True)
class SglangResults:
    """SGLang's classes of a detector's results."""

    calls: Callable[..., Any]
    call: Callable[..., Any]
    reasoning: Callable[..., Any]
    tag: Callable[[object], object]

    def calls_of(self, deltas: Sequence[Delta]) -> Any:
        """Return deltas as text and pieces of calls; a call's index is its number."""
        text = "".join(each.text for each in deltas if each.kind is DeltaKind.CONTENT)
        calls: list[Any] = []
        for each in deltas:
            if each.kind is DeltaKind.CALL:
                calls.append(self.call(tool_index=each.index, name=each.text, parameters=""))
            elif each.kind is DeltaKind.ARGUMENTS:
                calls.append(self.call(tool_index=each.index, parameters=each.text))
        return self.calls(normal_text=text, calls=calls)


@dataclass(frozen=True)
class _Offer:
    """The fields of a request that `served_request` reads."""

    tools: Sequence[object] | None
    tool_choice: object = "auto"
    parallel_tool_calls: bool = True


class ToolDetector:
    """Reads calls in the text after the reasoning."""

    results: SglangResults

    def __init__(self, tokenizer: object = None) -> None:
        """Load the format by the server's tokenizer."""
        super().__init__()
        self._served_format = served_format(tokenizer)
        self._stream: StreamParser | None = None
        self._text = ""

    def _parser(self, tools: Sequence[object]) -> OutputParser:
        return self._served_format.parser(served_request(_Offer(tools)), reasoning_over=True)

    def _running_stream(self, tools: Sequence[object]) -> StreamParser:
        if self._stream is None:
            self._stream = self._parser(tools).stream()
        return self._stream

    def has_tool_call(self, text: str) -> bool:
        """Whether there can be a call in a text."""
        return self._served_format.caller.may_hold_call(text)

    def detect_and_parse(self, text: str, tools: Sequence[object]) -> Any:
        """Read a whole text."""
        parser = self._parser(tools)
        message = self._served_format.cut_message(parser, text) or parser.parse(text)
        process_watch().note(message)
        calls = [
            self.results.call(tool_index=index, name=call.name, parameters=call.arguments)
            for index, call in enumerate(message.begun_calls)
        ]
        return self.results.calls(normal_text=message.content or "", calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: Sequence[object]) -> Any:
        """Read what has come since."""
        self._text += new_text
        return self.results.calls_of(self._running_stream(tools).feed(new_text))

    def finish(self, tools: Sequence[object]) -> Any:
        """Give what was held back until the end."""
        cut = self._served_format.cut_message(self._parser(tools), self._text)
        stream = self._running_stream(tools)
        deltas = stream.finish(complete=cut is None)
        process_watch().note(stream.message)
        return self.results.calls_of(deltas)

    def structure_info(self) -> Callable[[str], Any]:
        """Raise ValueError; SGLang asks only if `get_structural_tag` returns None."""
        raise ValueError("autoparser writes structural tags of today's form alone")

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

        Whether SGLang waits for the reasoning's end it infers from the template and the request,
        and says so to no detector; `thinking_mode` is true only without a reasoning parser. Raises
        ValueError if no tag can be written.
        """
        request = served_request(_Offer(tools, tool_choice, parallel_tool_calls))
        try:
            tag = self._served_format.tag(
                request, "the prompt's end" if thinking_mode else "anywhere"
            )
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

    def __init__(
        self,
        tokenizer: object = None,
        *,
        tool_call_parser_active: bool = False,
        force_reasoning: bool | None = None,
        **others: Any,
    ) -> None:
        """Take the server's tokenizer; `force_reasoning` is what SGLang infers of the request."""
        self._served_format = served_format(tokenizer)
        self._read_on = tool_call_parser_active
        self._settings = self._request_settings(force_reasoning)
        opener, closer = self._served_format.reasoning_markers
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
        """Return which requests have open reasoning, in SGLang's words, or None for none of them.

        SGLang asks where it infers no switch from the template itself, and knows two names of one.
        """
        settings_of = self._served_format.settings_that_open
        opening, leaving = settings_of(reasoning=True), settings_of(reasoning=False)
        if {} in opening:
            return next((name for name in SWITCHES if {name: False} in leaving), "always")
        # Where the model opens reasoning itself, a grammar holds from the first token on.
        return next((f"explicit_{name}" for name in SWITCHES if {name: True} in opening), None)

    def _request_settings(self, opened: bool | None) -> Mapping[str, object]:
        """Return settings whose prompt opens reasoning, or leaves it, as that of the request."""
        if opened is None:
            return {}
        nothing: Mapping[str, object] = {}
        return next(iter(self._served_format.settings_that_open(reasoning=opened)), nothing)

    def _request(self, tool_choice: str) -> ServedRequest:
        return ServedRequest(tool_choice=tool_choice, settings=self._settings)

    def _running_stream(self) -> StreamParser:
        if self._stream is None:
            request = self._request("auto" if self._read_on else "none")
            self._stream = self._served_format.parser(request).stream()
        return self._stream

    def detect_and_parse(self, text: str) -> Any:
        """Read a whole text."""
        found = self.parse_streaming_increment(text)
        rest = self.finish()
        thought = found.reasoning_text + rest.reasoning_text
        normal = found.normal_text + rest.normal_text
        if self._read_on and not self._served_format.caller.may_hold_call(normal):
            message = self._served_format.parser(self._request("none")).parse(text)
            normal = message.content or ""
        return self.results.reasoning(normal_text=normal, reasoning_text=thought)

    def parse_streaming_increment(self, new_text: str) -> Any:
        """Read what has come since; what a tool detector reads on comes as it is."""
        if self._over:
            return self.results.reasoning(normal_text=new_text)
        self._text += new_text
        return self._reasoning_result(self._running_stream().feed(new_text))

    def _reasoning_result(self, deltas: Sequence[Delta]) -> Any:
        reasoning, end = reasoning_deltas(self._running_stream(), deltas)
        thought = "".join(each.text for each in reasoning)
        if not self._read_on:
            content = "".join(each.text for each in deltas if each.kind is DeltaKind.CONTENT)
            return self.results.reasoning(normal_text=content, reasoning_text=thought)
        self._over = end is not None
        return self.results.reasoning(
            normal_text="" if end is None else self._text[end:], reasoning_text=thought
        )

    def finish(self) -> Any:
        """Give what was held back until the end; nothing after the reasoning is."""
        if self._over or self._stream is None:
            return self.results.reasoning()
        return self._reasoning_result(self._stream.finish())


# Registration.


def register() -> None:
    """Register both detectors."""
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
    calls.FunctionCallParser.ToolCallParserEnum[NAME] = _class_of(
        "AutoparserToolDetector", ToolDetector, base.BaseFormatDetector, results
    )
    thoughts.ReasoningParser.DetectorMap[NAME] = _class_of(
        "AutoparserReasoningDetector",
        ReasoningDetector,
        thoughts.BaseReasoningFormatDetector,
        results,
    )


def _class_of(name: str, ours: type, base: type, results: SglangResults) -> type:
    return type(name, (ours, base), {"results": results})


def _tag(tag_value: object) -> object:
    """Return a structural tag as xgrammar's class, which SGLang brings."""
    xgrammar: Any = import_module("xgrammar")
    return xgrammar.StructuralTag.model_validate(tag_value)
