"""Every request: tools, their choice, where the prompt ended, and how the caller wants to hear."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import DeltaKind, Status
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_request import RequestError

from .loop import TOOLS, analysis_of, disagreement, gaps, streamed

JSON, TAGGED, SECTION = "j1-json-in-tags", "a1-function-parameter", "a3-invoke-parameter"
FORCED, HARMONY = "reasoning-forced-open", "t2-recipient-header"
OSLO = '{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}'
NOTE = '{"name": "update_record", "arguments": {"title": "x"}}'
CALL = f"<tool_call>\n{OSLO}\n</tool_call>"


def header(fixture: str) -> str:
    return analysis_of(fixture).format.header


@pytest.mark.parametrize(
    ("fixture", "text"),
    [
        (JSON, f"<think>\nHm.\n</think>\n\nHi.\n{CALL}"),
        ("t1-name-then-json", '[THINK]Hm.[/THINK]Hi.[TOOL_CALLS]get_forecast[ARGS]{"city": "x"}'),
    ],
)
def test_reasoning_may_stay_in_the_content(fixture: str, text: str) -> None:
    parser = analysis_of(fixture).parser(TOOLS, reasoning="inline")
    message = parser.parse(text)
    assert message.reasoning_content is None
    assert message.content is not None
    assert message.content.index("Hm.") < message.content.index("Hi.")
    assert [call.name for call in message.tool_calls] == ["get_forecast"]
    assert not disagreement(parser, text, list(text))


def test_whole_calls_come_once_they_have_closed() -> None:
    parser = analysis_of(JSON).parser(TOOLS, call_deltas="whole")
    stream = parser.stream()
    open_ = CALL.removesuffix("}\n</tool_call>")
    early = [delta for char in open_ for delta in stream.feed(char)]
    assert not [delta for delta in early if delta.kind in (DeltaKind.CALL, DeltaKind.ARGUMENTS)]
    late = [*stream.feed("}\n</tool_call>"), *stream.finish()]
    assert [delta.kind for delta in late] == [
        DeltaKind.CALL,
        DeltaKind.ARGUMENTS,
        DeltaKind.FINISH,
    ]
    assert json.loads(late[1].text) == {"city": "Oslo", "days": 3}


@pytest.mark.parametrize("fixture", [JSON, "j2-bare-object", "j3-3-bare-array"])
def test_with_no_choice_nothing_is_a_call(fixture: str) -> None:
    text = f"So: {CALL}" if fixture == JSON else OSLO.replace("arguments", "parameters")
    for parser in (
        analysis_of(fixture).parser(TOOLS, tool_choice="none"),
        analysis_of(fixture).parser([]),
    ):
        message = parser.parse(text)
        assert (message.content, message.tool_calls) == (text, ())


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_choice_among_the_tools(choice: str) -> None:
    (call,) = analysis_of(JSON).parser(TOOLS, tool_choice=choice).parse(CALL).tool_calls
    assert (call.name, call.status) == ("get_forecast", Status.OK)


def test_one_tool_is_chosen() -> None:
    chosen = {"type": "function", "function": {"name": "update_record"}}
    parser = analysis_of(JSON).parser(TOOLS, tool_choice=chosen)
    (call,) = parser.parse(CALL).tool_calls
    assert call.status is Status.UNKNOWN_TOOL
    (call,) = parser.parse(CALL.replace(OSLO, NOTE)).tool_calls
    assert call.status is Status.OK


def test_without_tools_given_every_name_is_taken() -> None:
    text = '<tool_call>{"name": "whatever", "arguments": {}}</tool_call>'
    (call,) = analysis_of(JSON).parser().parse(text).tool_calls
    assert (call.name, call.status) == ("whatever", Status.OK)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_calls_that_were_not_asked_for_in_parallel_are_junk(parallel: bool, whole: bool) -> None:
    text = f"{CALL}\n{CALL.replace(OSLO, NOTE)}"
    parser = analysis_of(JSON).parser(
        TOOLS, parallel_tool_calls=parallel, call_deltas="whole" if whole else "incremental"
    )
    message = parser.parse(text + "Done.")
    junk = [text[span.start : span.end] for span in message.spans if span.kind is SpanKind.JUNK]
    names = [call.name for call in message.tool_calls]
    if parallel:
        assert (names, junk) == (["get_forecast", "update_record"], [])
    else:
        assert names == ["get_forecast"]
        assert NOTE in "".join(junk)
    assert message.content == "Done."
    assert not disagreement(parser, text, list(text))


def test_an_answer_by_a_schema_is_content() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    text = OSLO.replace("arguments", "parameters")
    message = analysis_of("j2-bare-object").parser(json_schema=schema).parse(text)
    assert (message.content, message.tool_calls) == (text, ())


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ('{"a": "<tool_call>{}"}', '{"a": "<tool_call>{}"}', None),
        (' [1, "</think> \\"<think>"]\n', ' [1, "</think> \\"<think>"]\n', None),
        ('<think>\nHm.\n</think>\n\n{"a": "<think>"}<|im_end|>\n', '{"a": "<think>"}', "Hm."),
        ('{"a": "cut<|im_end|>\n', '{"a": "cut', None),
        ('{"a": "cut\\', '{"a": "cut\\', None),
    ],
)
def test_markers_inside_an_answer_by_a_schema_are_text(
    text: str, content: str, reasoning: str | None
) -> None:
    parser = analysis_of(JSON).parser(TOOLS, json_schema={"type": "object"})
    message = parser.parse(text)
    assert (message.content, message.reasoning_content) == (content, reasoning)
    assert message.tool_calls == ()
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    ("text", "content", "reasoning", "calls"),
    [
        ("[1, 2]", "[1, 2]", None, 0),
        ("[TH", "[TH", None, 0),
        ("[THINK]Hm.[/THINK][1]", "[1]", "Hm.", 0),
        ('[TOOL_CALLS]get_forecast[ARGS]{"city": "Rio"}', None, None, 1),
    ],
)
def test_a_marker_in_brackets_is_no_array(
    text: str, content: str | None, reasoning: str | None, calls: int
) -> None:
    parser = analysis_of("t1-name-then-json").parser(TOOLS, json_schema={"type": "array"})
    message = parser.parse(text)
    assert (message.content, message.reasoning_content) == (content, reasoning)
    assert len(message.tool_calls) == calls
    assert not disagreement(parser, text, list(text))


def test_beside_an_answer_by_a_schema_calls_are_calls() -> None:
    parser = analysis_of(JSON).parser(TOOLS, json_schema={"type": "object"})
    (call,) = parser.parse(CALL).tool_calls
    assert call.name == "get_forecast"


@pytest.mark.parametrize(
    ("fixture", "prompt", "text", "reasoning", "content"),
    [
        (JSON, "<|im_start|>assistant\n", "<think>\nHm.\n</think>\n\nHi.", "Hm.", "Hi."),
        (JSON, "<|im_start|>assistant\n", "Hi.", None, "Hi."),
        (JSON, "<|im_start|>assistant\n<think>\n\n</think>\n\n", "Hi.", None, "Hi."),
        (TAGGED, "<|im_start|>assistant\n<think>\n", "Hm.\n</think>\n\nHi.", "Hm.", "Hi."),
        (TAGGED, "<|im_start|>assistant\n<think>", "\nHm.\n</think>\n\nHi.", "Hm.", "Hi."),
        (TAGGED, "<|im_start|>assistant\n<think>\n", "Hm. So", "Hm. So", None),
        (FORCED, "<role>ASSISTANT</role><muse>\n", "Hm.\n</muse>\n\nHi.", "Hm.", "Hi."),
        (
            HARMONY,
            "<|start|>assistant",
            "<|channel|>analysis<|message|>Hm.<|end|>",
            "Hm.",
            None,
        ),
    ],
)
def test_the_prompt_says_where_the_model_begins(
    fixture: str, prompt: str, text: str, reasoning: str | None, content: str | None
) -> None:
    parser = analysis_of(fixture).parser(TOOLS, prompt=f"before{prompt}")
    message = parser.parse(text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    ("prefilled", "text", "reasoning", "content", "calls"),
    [
        ("It is", " sunny.", None, " sunny.", []),
        ("<think>\nHm", ". So.\n</think>\n\nHi.", ". So.", "Hi.", []),
        ("<think>\nHm.\n</think>\n\nIt", " is.", None, " is.", []),
        ("Hi.\n", CALL, None, None, ["get_forecast"]),
    ],
)
def test_a_prefilled_message_goes_on(
    prefilled: str, text: str, reasoning: str | None, content: str | None, calls: list[str]
) -> None:
    parser = analysis_of(JSON).parser(TOOLS, prompt=header(JSON) + prefilled)
    message = parser.parse(text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert [call.name for call in message.tool_calls] == calls
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    ("behind", "text", "reasoning", "content"),
    [
        ("", "Hi.", None, "Hi."),
        ("<think>\n", "Hm.\n</think>\n\nHi.", "Hm.", "Hi."),
        ("<think>", "\nHm.\n</think>\n\nHi.", "Hm.", "Hi."),
        ("<think>\n", "Hm. So", "Hm. So", None),
    ],
)
def test_a_turn_that_goes_on_behind_a_result_does_not_hold_the_call_before(
    behind: str, text: str, reasoning: str | None, content: str | None
) -> None:
    result = f"{CALL}<|im_end|>\n<tool_response>sunny</tool_response>"
    parser = analysis_of(JSON).parser(TOOLS, prompt=f"{header(JSON)}{result}{behind}")
    message = parser.parse(text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert message.tool_calls == ()
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize("tools", [["f"], [{"function": {}}], [{"type": "function"}]])
def test_what_is_not_a_valid_tool_is_refused(tools: list[object]) -> None:
    with pytest.raises(RequestError, match="not a valid tool"):
        analysis_of(JSON).parser(tools)


def test_parameters_that_are_no_schema_are_refused() -> None:
    with pytest.raises(RequestError, match="schema"):
        analysis_of(JSON).parser([{"name": "f", "parameters": 3}])


def test_a_choice_that_names_no_tool_is_refused() -> None:
    with pytest.raises(RequestError, match="names no tool"):
        analysis_of(JSON).parser(TOOLS, tool_choice="nothing_such")


def test_deltas_in_openai_form() -> None:
    parser: OutputParser = analysis_of(JSON).parser(TOOLS)
    found = streamed(parser, list(f"<think>\nHm.\n</think>\n\nHi.\n{CALL}"))
    shown = [delta.to_openai() for delta in found.deltas]
    first = next(each["tool_calls"] for each in shown if "tool_calls" in each)
    assert isinstance(first, list)
    assert isinstance(first[0], dict)
    assert first[0]["index"] == 0
    assert first[0]["function"] == {"name": "get_forecast", "arguments": ""}
    message = found.message.to_openai()
    assert (message["content"], message["reasoning_content"]) == ("Hi.", "Hm.")
