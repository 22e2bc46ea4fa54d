"""SGLang's parsers of reasoning and of calls, one after the other as its server has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from .asked_engine import STEPS, USER, Reading, message
from .marker_tokens import KnownTokens, LookedUpTokens


class Sglang:
    """The engine."""

    name = "sglang"
    steps = STEPS

    def __init__(self) -> None:
        parser = import_module("sglang.srt.function_call.function_call_parser")
        self.calling = parser.FunctionCallParser
        self.thinking = import_module("sglang.srt.parser.reasoning_parser").ReasoningParser
        self.protocol = import_module("sglang.srt.entrypoints.openai.protocol")
        self.tools: Sequence[Any] = ()
        self._template: Any = None

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names that its command line takes."""
        return list(self.calling.ToolCallParserEnum), list(self.thinking.DetectorMap)

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Take the tools, and have SGLang look at the template for its `auto`."""
        self.tools = [self.protocol.Tool.model_validate(each) for each in loaded["tools"]]
        self._template = None
        try:
            detection = import_module("sglang.srt.parser.template_detection")
        except ImportError:
            # It imports much of the engine, which needs more than its parsers do.
            return None
        template = loaded["template"]
        forced, config = detection.detect_reasoning_pattern(template)
        self._template = SimpleNamespace(force_reasoning=forced, reasoning_config=config)
        given = (template, KnownTokens(loaded["vocabulary"], template), config, forced)
        return {
            "tool": detection.detect_tool_call_parser(*given),
            "reasoning": detection.detect_reasoning_parser(*given),
        }

    def forced(self, reasoning: str, request: Any, detector: Any) -> bool | None:
        """Whether the server would take the answer to begin with reasoning; None: it cannot say."""
        if self._template is None:
            return None
        with suppress(ImportError):
            serving = import_module("sglang.srt.entrypoints.openai.serving_chat").OpenAIServingChat
            server = SimpleNamespace(
                reasoning_parser=reasoning,
                template_manager=self._template,
                _reasoning_detector=detector,
            )
            asked: bool = serving._get_reasoning_from_request(server, request)  # noqa: SLF001
            return self._template.force_reasoning or asked
        return self._template.force_reasoning or None

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return nothing: any text can be given to a parser."""
        del loaded
        return {}

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Make what reads a text by two parsers."""
        return SglangPair(self, tool, reasoning).read


class SglangPair:
    """A parser of reasoning and one of calls; each answer has its own, since they have a state."""

    def __init__(self, engine: Sglang, tool: str | None, reasoning: str | None) -> None:
        self._engine, self._tool, self._reasoning = engine, tool, reasoning
        self._tokenizer = LookedUpTokens()
        self._known: Any = None
        if reasoning:
            self._known = engine.thinking(reasoning, tokenizer=self._tokenizer).detector
        if tool:
            engine.calling(engine.tools, tool, tokenizer=self._tokenizer)

    def read(self, asked: Mapping[str, Any], step: int) -> Reading:
        """Read a text, that many tokens at a time."""
        engine, tokenizer = self._engine, self._tokenizer
        tools: Sequence[Any] = engine.tools if asked["tools"] else ()
        setting = dict(asked["setting"])
        request = engine.protocol.ChatCompletionRequest(
            model="m", messages=[USER], tools=tools or None, chat_template_kwargs=setting
        )
        calls = thinks = None
        if self._tool and tools:
            calls = engine.calling(tools, self._tool, tokenizer=tokenizer, tool_choice="auto")
        if self._reasoning:
            thinks = engine.thinking(
                self._reasoning,
                bool(step),
                engine.forced(self._reasoning, request, self._known),
                request,
                tokenizer=tokenizer,
                tool_call_parser_active=calls is not None,
            )
        text = asked["text"]
        # A stop token that closes a call is left in the text, where its parser looks for it.
        if calls is not None and getattr(calls.detector, "eot_token", None) == asked["end"]:
            text += asked["end"]
        if not step:
            return _whole(thinks, calls, text)
        ids = tokenizer.encode(text)
        deltas = [tokenizer.decode(ids[at : at + step]) for at in range(0, len(ids), step)]
        return _streamed(thinks, calls, deltas)


def _whole(thinks: Any, calls: Any, text: str) -> Reading:
    thought, said = ("", text) if thinks is None else thinks.parse_non_stream(text)
    found: list[Any] = []
    if calls is not None and calls.has_tool_call(said or ""):
        said, found = calls.parse_non_stream(said)
    return message(thought, said, [(each.name, each.parameters) for each in found])


def _streamed(thinks: Any, calls: Any, deltas: Sequence[str]) -> Reading:
    thought = said = ""
    found: dict[int, list[str]] = {}
    for piece in (*deltas, ""):
        taken, rest = ("", piece) if thinks is None else _thoughts(thinks, piece)
        thought += taken or ""
        for normal, items in _passed(calls, rest or "", ended=not piece):
            said += normal or ""
            for item in items:
                call = found.setdefault(item.tool_index, ["", ""])
                call[0] += item.name or ""
                call[1] += item.parameters or ""
    if found:
        at, rest = _not_yet_sent(calls.detector)
        found.setdefault(at, ["", ""])[1] += rest
    return message(thought, said, [(name, given) for name, given in found.values()])


def _thoughts(thinks: Any, piece: str) -> Any:
    """Return reasoning and the rest of a delta; the empty one ends the stream."""
    return thinks.parse_stream_chunk(piece) if piece else thinks.parse_stream_end()


def _passed(calls: Any, text: str, *, ended: bool) -> list[tuple[str, Sequence[Any]]]:
    """Return the content and the calls in what is not reasoning."""
    if calls is None:
        return [(text, [])]
    found = [calls.parse_stream_chunk(text)] if text else []
    return [*found, calls.parse_stream_end()] if ended else found


def _not_yet_sent(detector: Any) -> tuple[int, str]:
    """Return what of the last call's arguments SGLang's server sends at the end of a stream."""
    known: Sequence[Any] = getattr(detector, "prev_tool_call_arr", None) or ()
    sent: Sequence[str] = getattr(detector, "streamed_args_for_tool", None) or ()
    at = len(known) - 1
    if not 0 <= at < len(sent):
        return 0, ""
    arguments: Any = known[at].get("arguments", {})
    is_text = isinstance(arguments, str)
    whole: str = arguments if is_text else json.dumps(arguments, ensure_ascii=False)
    return at, whole[len(sent[at]) :] if whole.startswith(sent[at]) else ""
