"""The adapters of both engines, without an engine: plain values stand in for its classes."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from importlib.metadata import version
from io import StringIO
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import msgspec
import pydantic
import pytest
from prometheus_client import CollectorRegistry

from autoparser.analysis.engines import served_format, vllm_plugin
from autoparser.analysis.engines.output_watch import OutputWatch, process_watch
from autoparser.analysis.engines.sglang_plugin import (
    NAME,
    ReasoningDetector,
    SglangResults,
    ToolDetector,
    keep_special_tokens,
    know_prompt,
    know_tools,
    opens_reasoning,
)
from autoparser.analysis.engines.vllm_plugin import (
    ReasoningHalf,
    ToolHalf,
    VllmMessages,
    WholeParser,
    log_as_server,
)
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from tests.case_tables import case_tables, load_cases
from tests.corpus.grammar_readers import read_by_xgrammar
from tests.fixture_analyses import analyzed

from .served_model import NAMES, TOOLS, ServedTokenizer, answers, tokenizer_for

value = SimpleNamespace
table = case_tables(__file__, "adapter_cases.yaml")
MESSAGES = VllmMessages(value, value, value, value, value, value, value)


class Engine:
    """A stand-in for an engine's base class, which does nothing."""

    reasoning_parser_cls: object = object
    tool_parser_cls: object = object

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.given = (args, kwargs)


Whole: Any = type("Whole", (WholeParser, Engine), {"messages": MESSAGES})
Half: Any = type("Half", (ReasoningHalf, Engine), {"messages": MESSAGES})
Tools: Any = type("Tools", (ToolHalf, Engine), {"messages": MESSAGES})


def asked(**given: Any) -> Any:
    usual = {
        "tools": TOOLS,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "include_reasoning": True,
        "skip_special_tokens": True,
        "structured_outputs": None,
        "response_format": None,
    }
    return value(**{**usual, **given})


def read_whole(tokenizer: ServedTokenizer, prompt: str, text: str) -> Any:
    """Return reasoning, content and calls of an answer that comes at once."""
    parser = Whole(tokenizer, TOOLS)
    parser.set_prompt_token_ids(tokenizer.ids(prompt))
    reasoning, content, calls = parser.parse(text, asked(), True, tokenizer.ids(text))
    return reasoning, content, [(call.name, call.arguments) for call in calls]


def read_streamed(tokenizer: ServedTokenizer, prompt: str, text: str) -> Any:
    """Return content and calls of an answer that comes a token at a time."""
    parser = Whole(tokenizer, TOOLS)
    ids = tokenizer.ids(text)
    content, calls = "", list[list[str]]()
    for at, id_ in enumerate(ids, 1):
        last = at == len(ids)
        delta = parser.parse_delta(
            tokenizer.piece(id_), [id_], asked(), tokenizer.ids(prompt), finished=last
        )
        content += (delta and delta.content) or ""
        for call in delta.tool_calls if delta else ():
            if call.index == len(calls):
                calls.append([call.function.name, ""])
            calls[call.index][1] += call.function.arguments
    return content or None, [(name, arguments) for name, arguments in calls]


def prompted() -> tuple[ServedTokenizer, Any]:
    """Return a tokenizer, and vLLM's half that knows a prompt which opens the reasoning."""
    tokenizer = tokenizer_for(NAMES[0])
    half = Half(tokenizer)
    assert not half.is_reasoning_end(tokenizer.ids("<|im_start|>assistant\n<think>\n"))
    return tokenizer, half


def with_values(calls: list[tuple[str, str]]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, json.loads(arguments)) for name, arguments in calls]


@pytest.mark.parametrize("name", NAMES)
def test_whole_and_streamed_answers_equal_the_message(name: str) -> None:
    tokenizer = tokenizer_for(name)
    assert answers(name)
    for answer in answers(name):
        reasoning, content, calls = read_whole(tokenizer, answer.prompt, answer.text)
        assert (reasoning, content) == (None, answer.content), answer
        assert with_values(calls) == answer.calls
        streamed, calls = read_streamed(tokenizer, answer.prompt, answer.text)
        assert (streamed, with_values(calls)) == (answer.content, answer.calls)


def test_required_choice_sets_a_structural_tag() -> None:
    parser = Whole(tokenizer_for(NAMES[0]), TOOLS)
    free = parser.adjust_request(asked())
    assert (free.structured_outputs, free.skip_special_tokens) == (None, False)
    held = parser.adjust_request(asked(tool_choice="required", response_format={"type": "text"}))
    assert json.loads(held.structured_outputs.structural_tag)["type"] == "structural_tag"
    assert held.response_format is None
    # A constraint that a structural tag cannot express is left to vLLM.
    own = value(grammar="root ::= 'a'")
    left = Whole(tokenizer_for(NAMES[0]), None).adjust_request(
        asked(tools=None, structured_outputs=own)
    )
    assert left.structured_outputs is own


@pytest.mark.parametrize("apart", [True, False])
def test_tag_uses_token_nodes_if_xgrammar_separates_tokens(
    apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (served_format, vllm_plugin):
        monkeypatch.setattr(module, "tells_tokens_apart", lambda: apart)
    tokenizer = tokenizer_for(NAMES[0])
    parser = Whole(tokenizer, TOOLS)
    held = parser.adjust_request(asked(tool_choice="required"))
    assert ("Token(" in held.structured_outputs.structural_tag) is apart
    # A spelled marker that the constraint lets through is read; one that it cannot is content.
    spelled = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
    ids = [id_ for sign in spelled for id_ in tokenizer.ids(sign)]
    parser.set_prompt_token_ids(tokenizer.ids("<|im_start|>assistant\n<think>\n\n</think>\n\n"))
    _, content, calls = parser.parse(spelled, held, True, ids)
    assert ([call.name for call in calls or ()], content) == (
        ([], spelled) if apart else (["list_rooms"], None)
    )


def test_token_separation_depends_on_the_xgrammar_version() -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    assert served_format.tells_tokens_apart() is (version("xgrammar") not in {"0.2.7", "0.2.8"})


def test_dropped_tag_keywords_are_one_server_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own, vllm, server = logging.getLogger("autoparser"), logging.getLogger("vllm"), StringIO()
    # The logging setup of a running server of vLLM 0.32.
    caplog.set_level(logging.ERROR)
    monkeypatch.setattr(vllm, "handlers", [logging.StreamHandler(server)])
    monkeypatch.setattr(vllm, "propagate", False)
    for name, value_ in (("handlers", []), ("propagate", True), ("level", logging.NOTSET)):
        monkeypatch.setattr(own, name, value_)
    unlike = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    tool = {"type": "function", "function": {"name": "sets_of_a_server", "parameters": unlike}}
    for _ in range(2):
        log_as_server()
        parser = Whole(tokenizer_for(NAMES[0]), [tool])
        parser.adjust_request(asked(tools=[tool], tool_choice="required"))
    (line,) = server.getvalue().splitlines()
    assert "the parameters of sets_of_a_server, #/properties/a/uniqueItems" in line


def test_reasoning_end_check_reads_each_new_id_once() -> None:
    tokenizer, half = prompted()
    ids = tokenizer.ids("Hm.\n</think>\n\nHi.")
    close = ids.index(tokenizer.ids("</think>")[0])
    read: list[int] = []
    end = half._end

    def counted(state: Any, new: list[int]) -> Any:
        read.extend(new)
        return end.after(state, new)

    half._end = value(after=counted, begin=end.begin)
    steps = [([0, *ids[: at + 1]], [id_]) for at, id_ in enumerate(ids)]
    seen = [half.is_reasoning_end_streaming(*step) for step in steps]
    assert seen == [at >= close for at in range(len(ids))]
    assert read == ids


def test_speculative_ids_are_undone_and_missed_ids_read_later() -> None:
    tokenizer, half = prompted()
    guess = tokenizer.ids("a</think>")
    assert half.is_reasoning_end_streaming(guess, guess)
    assert not half.is_reasoning_end_streaming(guess[:1], guess[:1])
    assert half.count_reasoning_tokens(guess) == 2
    ids = tokenizer.ids("ab</think>c")
    assert half.is_reasoning_end_streaming(ids, ids[-1:])


def test_reasoning_and_tool_parsers_together_read_everything() -> None:
    tokenizer = tokenizer_for(NAMES[0])
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rio"}}\n</tool_call>'
    text = f"<think>\nHm.\n</think>\n\nHi.\n{call}"
    reasoning, rest = Half(tokenizer).extract_reasoning(text, None)
    assert reasoning == "Hm."
    found = Tools(tokenizer, TOOLS).extract_tool_calls(rest, asked())
    assert (found.content, found.tool_calls[0].function.name) == ("Hi.", "get_weather")


FOREIGN = '[TOOL_CALLS]get_weather{"city": "Rio"}<|im_end|>'
UNFIT = '<tool_call>\n{"name": "get_weather", "arguments": {"city": 5}}\n</tool_call><|im_end|>'


def whole_answer(tokenizer: ServedTokenizer, text: str) -> None:
    read_whole(tokenizer, "", text)


def streamed_answer(tokenizer: ServedTokenizer, text: str) -> None:
    read_streamed(tokenizer, "", text)


def half_answer(tokenizer: ServedTokenizer, text: str) -> None:
    Tools(tokenizer, TOOLS).extract_tool_calls(text, asked())


def half_stream(tokenizer: ServedTokenizer, text: str) -> None:
    half = Tools(tokenizer, TOOLS)
    half.extract_tool_calls_streaming("", text, text, [], [], [], asked())
    half.finish_streaming()


def sglang_answer(tokenizer: ServedTokenizer, text: str) -> None:
    Detector(tokenizer).detect_and_parse(text, TOOLS)


def sglang_stream(tokenizer: ServedTokenizer, text: str) -> None:
    detector = Detector(tokenizer)
    detector.parse_streaming_increment(text, TOOLS)
    detector.finish(TOOLS)


READERS = (
    *(whole_answer, streamed_answer, half_answer, half_stream),
    *(sglang_answer, sglang_stream),
)


@pytest.mark.parametrize("read", READERS)
def test_foreign_and_unfit_outputs_are_counted_once(
    read: Callable[[ServedTokenizer, str], None],
) -> None:
    tokenizer, watch = tokenizer_for(NAMES[0]), process_watch()
    for text, expected in ((FOREIGN, (1, 0)), (UNFIT, (0, 1)), ("Hi.", (0, 0))):
        foreign, unfit = watch.foreign, watch.schema_errors
        read(tokenizer, text)
        assert (watch.foreign - foreign, watch.schema_errors - unfit) == expected


def test_output_watch_logs_one_line_per_kind_without_output_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = CollectorRegistry()
    watch = OutputWatch(registry)
    parser = analyzed(NAMES[0]).parser(TOOLS)
    for text in (FOREIGN, UNFIT) * 5:
        watch.note(parser.parse(text))
    foreign, unfit = sorted(record.getMessage() for record in caplog.records)
    assert foreign.startswith("3 outputs call tools in another format")
    assert "get_weather at properties.city.type" in unfit
    assert "5" not in unfit
    assert registry.get_sample_value("autoparser_foreign_outputs_total") == 5
    assert registry.get_sample_value("autoparser_schema_errors_total") == 5


def sglang_call(*, tool_index: int, parameters: str, name: str | None = None) -> Any:
    return value(tool_index=tool_index, parameters=parameters, name=name)


def sglang_reasoning(normal_text: str = "", reasoning_text: str = "") -> Any:
    return value(normal_text=normal_text, reasoning_text=reasoning_text)


RESULTS = {"results": SglangResults(value, sglang_call, sglang_reasoning, lambda tag: tag)}
Detector: Any = type("Detector", (ToolDetector, Engine), RESULTS)
Thinking: Any = type("Thinking", (ReasoningDetector, Engine), RESULTS)


@pytest.mark.parametrize("name", NAMES)
def test_sglang_detectors_parse_the_same_messages(name: str) -> None:
    tokenizer = tokenizer_for(name)
    for answer in answers(name):
        apart = Thinking(tokenizer=tokenizer).detect_and_parse(answer.text)
        assert apart.reasoning_text == ""
        tools = Detector(tokenizer=tokenizer)
        found = tools.detect_and_parse(apart.normal_text, TOOLS)
        assert found.normal_text == (answer.content or "")
        assert [(call.name, json.loads(call.parameters)) for call in found.calls] == answer.calls
        assert tools.has_tool_call(answer.text) is bool(answer.calls)
    assert Detector(tokenizer=tokenizer).get_structural_tag(TOOLS, "required")


@table("broken_calls")
def test_broken_and_truncated_calls_are_equal_whole_and_streamed(case: dict[str, Any]) -> None:
    tokenizer, prompt = tokenizer_for("j1-json-in-tags"), "<|im_start|>assistant\n"
    text, content, arguments = case["text"], case["content"], case["arguments"]
    _, said, told = read_whole(tokenizer, prompt, text)
    assert (said or "", [arguments_ for _, arguments_ in told]) == (content, arguments)
    assert read_streamed(tokenizer, prompt, text) == (said, told)
    tools, found = Detector(tokenizer=tokenizer), Detector(tokenizer=tokenizer)
    at_once = found.detect_and_parse(text, TOOLS)
    assert at_once.normal_text == content
    assert [call.parameters for call in at_once.calls] == arguments
    pieces = [tools.parse_streaming_increment(char, TOOLS) for char in text] + [tools.finish(TOOLS)]
    sums = [""] * len(arguments)
    for call in (call for piece in pieces for call in piece.calls):
        sums[call.tool_index] += call.parameters
    assert ("".join(piece.normal_text for piece in pieces), sums) == (content, arguments)


# A tool and its function as in SGLang's own endpoints.
NativeFunction: Any = msgspec.defstruct("NativeFunction", ["name", "parameters"], array_like=True)
NativeTool: Any = msgspec.defstruct("NativeTool", ["function"], array_like=True)


def test_tools_of_sglangs_native_endpoints_are_accepted() -> None:
    tokenizer = tokenizer_for("a1-function-parameter")
    functions = [tool["function"] for tool in TOOLS]
    native = [
        NativeTool(NativeFunction(function["name"], function["parameters"]))
        for function in functions
    ]
    answer = next(row for row in answers("a1-function-parameter") if row.calls)
    rest = Thinking(tokenizer=tokenizer).detect_and_parse(answer.text).normal_text
    found = Detector(tokenizer=tokenizer).detect_and_parse(rest, native)
    assert [(call.name, json.loads(call.parameters)) for call in found.calls] == answer.calls


@table("reasoning_of_sglang")
def test_reasoning_detector_returns_the_rest_for_sglangs_tool_parser(case: dict[str, Any]) -> None:
    tokenizer, text = tokenizer_for("a1-function-parameter"), case["text"]
    thinking = Thinking(tokenizer=tokenizer, **case["options"])
    assert thinking.given[1]["reasoning_default"] == "enable_thinking"
    found = thinking.detect_and_parse(text)
    assert (found.reasoning_text, found.normal_text) == (case["reasoning"], case["rest"])
    if not case.get("whole_only"):
        streamed = Thinking(tokenizer=tokenizer, **case["options"])
        pieces = [*map(streamed.parse_streaming_increment, text), streamed.finish()]
        assert "".join(piece.normal_text for piece in pieces) == case["rest"]
        assert "".join(piece.reasoning_text for piece in pieces) == case["reasoning"]


THOUGHT = load_cases(__file__, "adapter_cases.yaml")["thought"]
"""Closes the reasoning in its prompt unless thinking is on; then the model opens it."""


def thoughtful() -> ServedTokenizer:
    marks = ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>")
    inner = byte_tokenizer(tuple((mark, True) for mark in marks))
    return ServedTokenizer(inner, THOUGHT, inner.token_to_id("<turn|>"))


def served_chat(tokenizer: ServedTokenizer, prompt: str = "", **given: Any) -> Any:
    """Return SGLang's chat endpoint, a request, and its tools, as the hooks leave them."""
    serving = value(
        tool_call_parser=NAME, reasoning_parser=NAME, tokenizer_manager=value(tokenizer=tokenizer)
    )
    request = asked(chat_template_kwargs=None, _response_parser_prefix="", **given)
    inner = value(text=prompt, input_ids=None, sampling_params={})
    if given.get("response_format"):
        inner.sampling_params["json_schema"] = "{}"
    know_prompt((inner, request), serving)
    return value(serving=serving, request=request, inner=inner)


def read_by_sglang(chat: Any, tokenizer: ServedTokenizer, text: str, *, stream: bool) -> Any:
    """Return reasoning, content and calls as SGLang puts them together."""
    offered = know_tools(chat.request.tools or [], chat.serving, chat.request)
    active = bool(offered)
    thinking = Thinking(tokenizer=tokenizer, tool_call_parser_active=active)
    thinking.know(chat.request)
    tools = Detector(tokenizer=tokenizer)
    if not stream:
        apart = thinking.detect_and_parse(text)
        thought, content, calls = apart.reasoning_text, apart.normal_text, []
        if active and tools.has_tool_call(content):
            found = tools.detect_and_parse(content, offered)
            content, calls = found.normal_text, found.calls
    else:
        pieces = [*map(thinking.parse_streaming_increment, text), thinking.finish()]
        thought = "".join(piece.reasoning_text for piece in pieces)
        content, calls = "".join(piece.normal_text for piece in pieces), []
        if active:
            rest = [tools.parse_streaming_increment(piece.normal_text, offered) for piece in pieces]
            rest.append(tools.finish(offered))
            content = "".join(piece.normal_text for piece in rest)
            calls = [call for piece in rest for call in piece.calls]
    return thought, content, [call.name for call in calls if call.name]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("offered", [TOOLS, None], ids=["tools", "no tools"])
def test_sglang_reads_reasoning_the_default_prompt_closes(stream: bool, offered: Any) -> None:
    tokenizer = thoughtful()
    text = "<|channel>thought\nHm.\n<channel|>Hi."
    chat = served_chat(tokenizer, "<|turn>user\nHi<turn|>\n<|turn>assistant\n", tools=offered)
    assert read_by_sglang(chat, tokenizer, text, stream=stream) == ("Hm.", "Hi.", [])
    # If no hook sees the request, reasoning that the model opens is parsed as well.
    thinking = Thinking(tokenizer=tokenizer, tool_call_parser_active=True, force_reasoning=False)
    pieces = [*map(thinking.parse_streaming_increment, text), thinking.finish()]
    assert "".join(piece.reasoning_text for piece in pieces) == "Hm."


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_sglang_strips_reasoning_closer_after_a_prompt_without_reasoning(stream: bool) -> None:
    tokenizer = tokenizer_for("a1-function-parameter")
    prompt = "<|im_start|>assistant\n<think>\n\n</think>"
    chat = served_chat(tokenizer, prompt)
    read = read_by_sglang(chat, tokenizer, "\n\nIt is sunny.", stream=stream)
    assert read == ("", "It is sunny.", [])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_sglang_returns_one_call_without_parallel_calls(stream: bool) -> None:
    tokenizer = tokenizer_for("j1-json-in-tags")
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rio"}}\n</tool_call>'
    for parallel, names in ((True, ["get_weather"] * 2), (False, ["get_weather"])):
        chat = served_chat(tokenizer, "<|im_start|>assistant\n", parallel_tool_calls=parallel)
        _, _, called = read_by_sglang(chat, tokenizer, f"{call}\n{call}", stream=stream)
        assert called == names


def test_sglang_expects_open_reasoning_per_request_setting() -> None:
    for name, setting, opened in (
        ("a1-function-parameter", None, True),
        ("a1-function-parameter", {"enable_thinking": False}, False),
        ("j1-json-in-tags", None, False),
    ):
        chat = served_chat(tokenizer_for(name))
        chat.request.chat_template_kwargs = setting
        inferred = Mock(return_value=not opened)
        found = opens_reasoning(inferred, chat.serving, chat.request)
        assert found is opened
    chat = served_chat(tokenizer_for("j1-json-in-tags"))
    chat.serving.reasoning_parser = "other"
    assert opens_reasoning(Mock(return_value=True), chat.serving, chat.request)


def test_sglang_keeps_special_tokens_for_the_reasoning_parser() -> None:
    chat = served_chat(tokenizer_for("j1-json-in-tags"), tools=None)
    keep_special_tokens(chat.serving, chat.request)
    assert chat.request.skip_special_tokens is False
    other = asked(separate_reasoning=False)
    keep_special_tokens(chat.serving, other)
    assert other.skip_special_tokens is True


def tag_accepts(tag: Any, text: str) -> bool:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    return read_by_xgrammar(json.loads(tag) if isinstance(tag, str) else tag)(text)


@table("harmony")
def test_harmony_parser_is_replaced_only_if_every_named_parser_is_ours(
    tool: str | None, reasoning: str | None, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of the type `gpt_oss`: vLLM (0.32, 0.33) asks for its Harmony parser."""

    class Harmony: ...

    class Pair: ...

    class Manager:
        @classmethod
        def _compose_parser(
            cls, tool_parser_name: str | None, reasoning_parser_name: str | None, is_harmony: bool
        ) -> type | None:
            if not (tool_parser_name or reasoning_parser_name):
                return None
            return Harmony if is_harmony else Pair

    module = "vllm.parser.parser_manager"
    monkeypatch.setitem(sys.modules, module, cast("ModuleType", value(ParserManager=Manager)))
    for _ in range(2):  # vLLM registers a plugin in each of its processes, maybe twice
        vllm_plugin._compose_whole(MESSAGES)
    for harmony in (True, False):
        made = Manager._compose_parser(
            tool_parser_name=tool, reasoning_parser_name=reasoning, is_harmony=harmony
        )
        if ours:
            assert made is not None
            assert made.__bases__ == (WholeParser, Pair)
        elif tool is None:
            assert made is None
        else:
            assert made is (Harmony if harmony else Pair)


JSON = '{"city": "Oslo", "days": 3}'
SCHEMA = {**TOOLS[0]["function"]["parameters"], "additionalProperties": False}


def vllm_tag(name: str, _: str) -> str:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    parser = Whole(tokenizer_for(name), None)
    request = parser.adjust_request(asked(tools=None, tool_choice=None, response_format=form))
    assert request.response_format is None
    return str(request.structured_outputs.structural_tag)


def sglang_tag(name: str, prompt: str) -> str:
    held: Any = pydantic.create_model("Held", schema_=(dict, pydantic.Field(alias="schema")))
    kind: Any = pydantic.create_model("Form", type=(str, "json_schema"), json_schema=(held, ...))
    # Like SGLang's own model of a request, whose field has another name than in JSON.
    form = kind(json_schema={"schema": SCHEMA})
    chat = served_chat(tokenizer_for(name), prompt, tools=None, response_format=form)
    ((key, tag),) = chat.inner.sampling_params.items()
    assert key == "structural_tag"
    return str(tag)


@pytest.mark.slow
@pytest.mark.parametrize("tag_of", [vllm_tag, sglang_tag])
@pytest.mark.parametrize(
    ("name", "thought", "prompt"),
    [
        ("j1-json-in-tags", "<think>\nHm.\n</think>\n\n", "<|im_start|>assistant\n"),
        ("a1-function-parameter", "\n\n", "<|im_start|>assistant\n<think>\n"),
    ],
    ids=["the model opens reasoning", "the prompt has opened it"],
)
def test_json_schema_tag_requires_reasoning_before_the_answer(
    name: str, thought: str, prompt: str, tag_of: Callable[[str, str], str]
) -> None:
    tag = tag_of(name, prompt)
    assert tag_accepts(tag, f"{thought}{JSON}")
    assert not tag_accepts(tag, f"{thought}It is sunny.")
    assert not tag_accepts(tag, f'{thought}{{"days": 3}}')


@pytest.mark.slow
@table("constraints")
def test_vllm_constraint_applies_to_the_content(case: dict[str, Any]) -> None:
    parser = Whole(tokenizer_for("j1-json-in-tags"), None)
    given = asked(tools=None, structured_outputs=value(**case["fields"]))
    tag = parser.adjust_request(given).structured_outputs.structural_tag
    for thought in ("", "<think>\nHm.\n</think>\n\n"):
        assert tag_accepts(tag, f"{thought}{case['right']}")
        assert not tag_accepts(tag, f"{thought}{case['wrong']}")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_sglang_required_tag_accepts_calls_from_every_start(name: str) -> None:
    tokenizer = tokenizer_for(name)
    tag = Detector(tokenizer=tokenizer).get_structural_tag(TOOLS, "required")
    call = next(answer.text for answer in answers(name) if answer.calls and not answer.content)
    # The engine writes the end of the turn.
    call = call[call.index("<tool_call>") :].removesuffix("<|im_end|>\n")
    # After the prompt's own empty block, and after the text that closes reasoning.
    assert tag_accepts(tag, call)
    assert tag_accepts(tag, f"\n\n{call}")
    assert not tag_accepts(tag, f"\n\n</think>\n\n{call}")
    assert not tag_accepts(tag, "\n\nIt is sunny.")
    begins_itself = tag_accepts(tag, f"<think>\nHm.\n</think>\n\n{call}")
    assert begins_itself is (name == "j1-json-in-tags")
