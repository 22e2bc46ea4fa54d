"""What models write beside what templates render: each line of the rules, on several formats."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status

from .loop import TOOLS, analysis_of, disagreement, gaps

OSLO = ("get_forecast", {"city": "Oslo", "days": 3})
NOTE = ("update_record", {"title": "x"})

JSON, TAGGED, PAIRS = "j1-json-in-tags", "a1-function-parameter", "a2-key-value-tags"
TOKENS, PYTHON, BARE = "t1-name-then-json", "p1-2-python-list", "j2-bare-object"
ARRAY, HEADER, SECTION = "j3-json-array", "t2-recipient-header", "a3-invoke-parameter"
LIST, QUOTED, INVOKES = "j3-3-bare-array", "g1-pseudo-json", "t5-id-carries-name"

J_OSLO = '{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}'
J_NOTE = '{"name": "update_record", "arguments": {"title": "x"}}'
A_OSLO = (
    "<function=get_forecast>\n<parameter=city>\nOslo\n</parameter>\n"
    "<parameter=days>\n3\n</parameter>\n</function>"
)
A_NOTE = "<function=update_record>\n<parameter=title>\nx\n</parameter>\n</function>"
K_OSLO = (
    "get_forecast\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
)
S_OSLO = (
    '<invoke name="get_forecast">\n<parameter name="city">Oslo</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n'
)
T_OSLO = '[TOOL_CALLS]get_forecast[ARGS]{"city": "Oslo", "days": 3}'
P_OSLO = "get_forecast(city='Oslo', days=3)"
H_OSLO = (
    "<|start|>assistant to=functions.get_forecast<|channel|>commentary json<|message|>"
    '{"city": "Oslo", "days": 3}<|call|>'
)
Q_OSLO = '<|tool_call>call:get_forecast{city:<|"|>Oslo<|"|>,days:3}<tool_call|>'
I_OSLO = (
    '<|call_begin|>functions.get_forecast:0<|call_argument_begin|>{"city": "Oslo", "days": 3}'
    "<|call_end|>"
)


class Line(NamedTuple):
    """An output after the header, and what it means."""

    what: str
    fixture: str
    text: str
    calls: tuple[tuple[str, object], ...] = ()
    content: str | None = None
    reasoning: str | None = None
    status: Status | None = None


def parsed(fixture: str, text: str, *, complete: bool = True) -> ParsedMessage:
    """Parse what follows the header; every way of cutting must agree."""
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header or "U:")
    message = parser.parse(text, complete=complete)
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text), complete=complete)
    return message


def check(line: Line) -> None:
    message = parsed(line.fixture, line.text)
    calls = tuple((call.name, json.loads(call.arguments)) for call in message.tool_calls)
    assert calls == line.calls
    assert message.content == line.content
    assert message.reasoning_content == line.reasoning
    if line.status is not None:
        assert message.status is line.status


def table(*lines: Line) -> pytest.MarkDecorator:
    ids = [f"{line.what} ({line.fixture})" for line in lines]
    return pytest.mark.parametrize("line", lines, ids=ids)


@table(
    Line("no space in the tags", JSON, f"<tool_call>{J_OSLO}</tool_call>", (OSLO,)),
    Line("more space in the tags", JSON, f"<tool_call>\n\n  {J_OSLO}\n\n\n</tool_call>\n", (OSLO,)),
    Line(
        "no space between calls",
        JSON,
        f"<tool_call>{J_OSLO}</tool_call><tool_call>{J_NOTE}</tool_call>",
        (OSLO, NOTE),
    ),
    Line("space doubled", TAGGED, f"\n\n<tool_call>\n\n{A_OSLO}\n\n</tool_call>\n\n", (OSLO,)),
    Line(
        "no space at all",
        TAGGED,
        "<tool_call><function=get_forecast><parameter=city>Oslo</parameter>"
        "<parameter=days>3</parameter></function></tool_call>",
        (OSLO,),
    ),
    Line(
        "no space at all",
        PAIRS,
        "<tool_call>get_forecast<arg_key>city</arg_key><arg_value>Oslo</arg_value>"
        "<arg_key>days</arg_key><arg_value>3</arg_value></tool_call>",
        (OSLO,),
    ),
    Line("space added", PAIRS, f"<tool_call>\n{K_OSLO}\n</tool_call>\n", (OSLO,)),
    Line("space added", TOKENS, T_OSLO.replace("[ARGS]", "[ARGS] \n"), (OSLO,)),
    Line("space added", ARRAY, f"<TOOLCALL> [ {J_OSLO} , {J_NOTE} ] </TOOLCALL>", (OSLO, NOTE)),
    Line(
        "no space in the list",
        PYTHON,
        "<|tool_call_start|>[get_forecast(city='Oslo',days=3),update_record(title='x')]"
        "<|tool_call_end|>",
        (OSLO, NOTE),
    ),
    Line(
        "space in the list",
        PYTHON,
        "<|tool_call_start|>\n[ get_forecast( city = 'Oslo', days = 3 ) ]\n<|tool_call_end|>",
        (OSLO,),
    ),
    Line("space in the object", BARE, J_OSLO.replace("arguments", "parameters") + "\n", (OSLO,)),
    Line(
        "space added", INVOKES, f"<|calls_section_begin|>\n{I_OSLO}\n<|calls_section_end|>", (OSLO,)
    ),
    Line(
        "space at the reasoning",
        JSON,
        "<think>\n\nHm.\n</think>Hi.",
        content="Hi.",
        reasoning="\nHm.",
    ),
)
def test_whitespace_at_markers_is_forgiven(line: Line) -> None:
    check(line)


@table(
    Line("inside content", JSON, "  a\n\n b  c", content="  a\n\n b  c"),
    Line("inside content", PYTHON, "a\n\n\n  b", content="a\n\n\n  b"),
    Line(
        "inside reasoning",
        JSON,
        "<think>\na\n\n  b\n</think>\n\nc",
        content="c",
        reasoning="a\n\n  b",
    ),
    Line(
        "in a tagged string",
        TAGGED,
        "<tool_call>\n<function=update_record>\n<parameter=title>\n\n a  b \n\n</parameter>\n"
        "</function>\n</tool_call>",
        (("update_record", {"title": "\n a  b \n"}),),
    ),
    Line(
        "in a string of a pair",
        PAIRS,
        "<tool_call>update_record\n<arg_key>title</arg_key>\n<arg_value> a \n</arg_value>\n"
        "</tool_call>",
        (("update_record", {"title": " a \n"}),),
    ),
)
def test_whitespace_in_texts_is_kept(line: Line) -> None:
    check(line)


@table(
    Line("without the tag", TAGGED, f"{A_OSLO}\n</tool_call>", (OSLO,)),
    Line("without the section", SECTION, f"{S_OSLO}</vireo:tool_call>", (OSLO,)),
    Line("without the section", INVOKES, I_OSLO, (OSLO,)),
    Line("without both", TAGGED, A_OSLO, (OSLO,)),
)
def test_a_forgotten_section_opener_is_forgiven(line: Line) -> None:
    check(line)


@table(
    Line("the tag's", JSON, f"<tool_call>\n{J_OSLO}", (OSLO,)),
    Line("the object's", JSON, f"<tool_call>\n{J_OSLO[:-1]}", (OSLO,)),
    Line("both braces", JSON, f"<tool_call>\n{J_OSLO[:-2]}", (OSLO,)),
    Line("the function's", TAGGED, "<tool_call>\n" + A_OSLO.removesuffix("\n</function>"), (OSLO,)),
    Line("the last value's", PAIRS, "<tool_call>" + K_OSLO.removesuffix("</arg_value>\n"), (OSLO,)),
    Line("the array's", ARRAY, f"<TOOLCALL>[{J_OSLO}", (OSLO,)),
    Line("the brace", TOKENS, T_OSLO[:-1], (OSLO,)),
    Line("the bracket", PYTHON, f"<|tool_call_start|>[{P_OSLO}", (OSLO,)),
    Line("the parenthesis", PYTHON, f"<|tool_call_start|>[{P_OSLO[:-1]}", (OSLO,)),
    Line("the header's", HEADER, H_OSLO.removesuffix("<|call|>"), (OSLO,)),
    Line("the section's", INVOKES, f"<|calls_section_begin|>{I_OSLO}", (OSLO,)),
    Line("the token", QUOTED, Q_OSLO.removesuffix("<tool_call|>"), (OSLO,)),
)
def test_missing_closers_at_the_end_are_repaired(line: Line) -> None:
    check(line)


@table(
    Line(
        "before the next parameter",
        TAGGED,
        f"<tool_call>\n{A_OSLO}\n</tool_call>".replace("Oslo\n</parameter>\n", "Oslo\n"),
        (OSLO,),
    ),
    Line(
        "before the function's end",
        TAGGED,
        f"<tool_call>\n{A_OSLO}\n</tool_call>".replace("3\n</parameter>\n", "3\n"),
        (OSLO,),
    ),
    Line(
        "before the next key",
        PAIRS,
        f"<tool_call>{K_OSLO}</tool_call>".replace("Oslo</arg_value>", "Oslo"),
        (OSLO,),
    ),
    Line(
        "before the next parameter",
        SECTION,
        f"<vireo:tool_call>\n{S_OSLO}</vireo:tool_call>".replace("Oslo</parameter>", "Oslo"),
        (OSLO,),
    ),
)
def test_a_value_without_its_closer_ends_at_the_next_marker(line: Line) -> None:
    check(line)


@table(
    Line("a word", SECTION, f"<vireo:tool_call>\nSure:\n{S_OSLO}</vireo:tool_call>", (OSLO,)),
    Line("a word", INVOKES, f"<|calls_section_begin|>ok {I_OSLO}<|calls_section_end|>", (OSLO,)),
    Line("a word", TAGGED, f"<tool_call>\nSure:\n{A_OSLO}\n</tool_call>", (OSLO,)),
)
def test_noise_between_the_section_and_its_first_call_is_forgiven(line: Line) -> None:
    check(line)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (SECTION, "<vireo:tool_call>ping</vireo:tool_call>"),
        (INVOKES, "<|calls_section_begin|>ping<|calls_section_end|>"),
    ],
)
def test_what_stands_in_a_section_without_a_call_is_content(template: str, text: str) -> None:
    parser = analysis_of(template).parser(TOOLS, reasoning_over=True)
    message = parser.parse(text)
    assert (message.content, message.status) == (text, Status.MALFORMED)
    assert parser.parse(text.replace("ping", " ")).content is None


@table(
    Line(
        "in tags",
        JSON,
        f"One.\n<tool_call>\n{J_OSLO}\n</tool_call>\nTwo.\n<tool_call>\n{J_NOTE}\n</tool_call>\nThree.",
        (OSLO, NOTE),
        "One.Two.Three.",
    ),
    Line(
        "tagged",
        TAGGED,
        f"One.\n\n<tool_call>\n{A_OSLO}\n</tool_call>Two.<tool_call>\n{A_NOTE}\n</tool_call>Three.",
        (OSLO, NOTE),
        "One.Two.Three.",
    ),
    Line(
        "pythonic",
        PYTHON,
        f"One.<|tool_call_start|>[{P_OSLO}]<|tool_call_end|>Two.",
        (OSLO,),
        "One.Two.",
    ),
    Line("in an array", ARRAY, f"One.<TOOLCALL>[{J_OSLO}]</TOOLCALL>Two.", (OSLO,), "One.Two."),
    Line("by tokens", QUOTED, f"One.{Q_OSLO}Two.", (OSLO,), "One.Two."),
)
def test_text_around_calls_is_content(line: Line) -> None:
    message = parsed(line.fixture, line.text)
    calls = tuple((call.name, json.loads(call.arguments)) for call in message.tool_calls)
    assert calls == line.calls
    assert "".join((message.content or "").split()) == line.content


@table(
    Line(
        "another order",
        JSON,
        '<tool_call>{"arguments": {"city": "Oslo", "days": 3}, "name": "get_forecast"}</tool_call>',
        (OSLO,),
    ),
    Line(
        "an unknown key",
        JSON,
        '<tool_call>{"id": 7, "name": "get_forecast", "why": {"a": [1]}, '
        '"arguments": {"city": "Oslo", "days": 3}, "type": "function"}</tool_call>',
        (OSLO,),
    ),
    Line(
        "other spacing",
        ARRAY,
        '<TOOLCALL>[{\n  "name"  :"get_forecast",\n\t"arguments":'
        '{"city":"Oslo","days":3}\n}]</TOOLCALL>',
        (OSLO,),
    ),
    Line(
        "another order",
        LIST,
        '[{"arguments": {"city": "Oslo", "days": 3}, "name": "get_forecast"}]',
        (OSLO,),
    ),
    Line(
        "another order",
        BARE,
        '{"parameters": {"city": "Oslo", "days": 3}, "name": "get_forecast"}',
        (OSLO,),
    ),
    Line(
        "other spacing", TOKENS, '[TOOL_CALLS]get_forecast[ARGS]{"city":"Oslo","days":3}', (OSLO,)
    ),
)
def test_json_is_read_as_json(line: Line) -> None:
    check(line)


@table(
    Line(
        "the closer",
        JSON,
        '<tool_call>{"name": "update_record", "arguments": {"title": "</tool_call>"}}</tool_call>',
        (("update_record", {"title": "</tool_call>"}),),
    ),
    Line(
        "the end of the turn",
        JSON,
        '<tool_call>{"name": "update_record", "arguments": {"title": "<|im_end|>"}}</tool_call>',
        (("update_record", {"title": "<|im_end|>"}),),
    ),
    Line(
        "the opener",
        TOKENS,
        '[TOOL_CALLS]update_record[ARGS]{"title": "[TOOL_CALLS]x[ARGS]"}',
        (("update_record", {"title": "[TOOL_CALLS]x[ARGS]"}),),
    ),
    Line(
        "the array's end",
        ARRAY,
        '<TOOLCALL>[{"name": "update_record", "arguments": {"title": "]</TOOLCALL>"}}]</TOOLCALL>',
        (("update_record", {"title": "]</TOOLCALL>"}),),
    ),
    Line(
        "brackets",
        PYTHON,
        "<|tool_call_start|>[update_record(title='), f(x=1)]')]<|tool_call_end|>",
        (("update_record", {"title": "), f(x=1)]"}),),
    ),
)
def test_a_marker_inside_a_quoted_string_is_text(line: Line) -> None:
    check(line)


@table(
    Line(
        "its own closer",
        TAGGED,
        "<tool_call>\n<function=update_record>\n<parameter=title>\na </parameter> b\n</parameter>\n"
        "</function>\n</tool_call>",
        (("update_record", {"title": "a </parameter> b"}),),
    ),
    Line(
        "its own closer",
        PAIRS,
        "<tool_call>update_record\n<arg_key>title</arg_key>\n"
        "<arg_value>a </arg_value> b</arg_value>\n"
        "</tool_call>",
        (("update_record", {"title": "a </arg_value> b"}),),
    ),
    Line(
        "its own closer",
        SECTION,
        '<vireo:tool_call>\n<invoke name="update_record">\n<parameter name="title">a </parameter> b'
        "</parameter>\n</invoke>\n</vireo:tool_call>",
        (("update_record", {"title": "a </parameter> b"}),),
    ),
)
def test_a_closer_inside_a_raw_value_is_text_unless_it_can_close(line: Line) -> None:
    check(line)


@table(
    Line("a dict", BARE, '{"a": 1} is a dict', content='{"a": 1} is a dict'),
    Line("a dict", LIST, '{"a": 1} is a dict', content='{"a": 1} is a dict'),
    Line("a list", LIST, "[1, 2] is a list", content="[1, 2] is a list"),
    Line(
        "an unknown tool",
        BARE,
        '{"name": "Ada", "parameters": {}}',
        content='{"name": "Ada", "parameters": {}}',
    ),
    Line("a name alone", BARE, '{"name": "get_forecast"}', content='{"name": "get_forecast"}'),
    Line("code", BARE, "f() { return {}; }", content="f() { return {}; }"),
)
def test_without_an_opener_only_a_call_of_an_offered_tool_is_one(line: Line) -> None:
    check(line)


@pytest.mark.parametrize(
    ("fixture", "marker"),
    [
        ("reasoning-forced-open", "<muse>"),
        ("reasoning-forced-closed", "<muse>"),
        (TAGGED, "<think>"),
        (SECTION, "<think>"),
    ],
)
def test_a_marker_that_the_prompt_wrote_may_be_written_again(fixture: str, marker: str) -> None:
    parser = analysis_of(fixture).parser(TOOLS)
    close = marker.replace("<", "</")
    block = parser.turn.reasoning
    assert block is not None
    message = parser.parse(f"{marker}{block.open.after}Hm.{close}{block.close.after}Hi.")
    assert (message.reasoning_content, message.content) == ("Hm.", "Hi.")


@table(
    Line("only spaces", JSON, "<think>\n \n</think>\n\nHi.", content="Hi."),
    Line("nothing", PYTHON, "<think></think>Hi.", content="Hi."),
    Line("never closed", JSON, "<think>\nHm. So", reasoning="Hm. So"),
    Line("never closed", TOKENS, "[THINK]Hm. So", reasoning="Hm. So"),
    Line(
        "a call inside",
        JSON,
        f"<think>\n<tool_call>{J_OSLO}</tool_call>\n</think>\n\nHi.",
        content="Hi.",
        reasoning=f"<tool_call>{J_OSLO}</tool_call>",
    ),
    Line(
        "a call inside",
        TOKENS,
        f"[THINK]{T_OSLO}[/THINK]Hi.",
        content="Hi.",
        reasoning=T_OSLO,
    ),
    Line(
        "a call inside",
        PAIRS,
        f"<think><tool_call>{K_OSLO}</tool_call></think>\nHi.",
        content="Hi.",
        reasoning=f"<tool_call>{K_OSLO}</tool_call>",
    ),
)
def test_reasoning(line: Line) -> None:
    check(line)


@table(
    Line("in content", JSON, "Hi.<|im_end|>\n<|im_start|>user\nMore", content="Hi."),
    Line("in content", TOKENS, "Hi.</s>[INST]More", content="Hi."),
    Line("behind a call", JSON, f"<tool_call>\n{J_OSLO}\n</tool_call><|im_end|>\nMore", (OSLO,)),
    Line(
        "behind a call",
        PYTHON,
        f"<|tool_call_start|>[{P_OSLO}]<|tool_call_end|><|im_end|>More",
        (OSLO,),
    ),
    Line(
        "behind a call",
        SECTION,
        f"<vireo:tool_call>\n{S_OSLO}</vireo:tool_call>[e~[\nMore",
        (OSLO,),
    ),
)
def test_what_follows_the_end_of_the_turn_is_junk(line: Line) -> None:
    check(line)
    assert parsed(line.fixture, line.text).spans[-1].kind.name == "JUNK"


UNKNOWN = {
    JSON: '<tool_call>{"name": "nothing_such", "arguments": {"a": 1}}</tool_call>',
    TAGGED: (
        "<tool_call>\n<function=nothing_such>\n<parameter=a>\n1\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    PAIRS: "<tool_call>nothing_such\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    TOKENS: '[TOOL_CALLS]nothing_such[ARGS]{"a": 1}',
    PYTHON: "<|tool_call_start|>[nothing_such(a=1)]<|tool_call_end|>",
    ARRAY: '<TOOLCALL>[{"name": "nothing_such", "arguments": {"a": 1}}]</TOOLCALL>',
    HEADER: (
        "<|start|>assistant to=functions.nothing_such<|channel|>commentary json<|message|>"
        '{"a": 1}<|call|>'
    ),
}


@pytest.mark.parametrize("fixture", UNKNOWN)
def test_an_unknown_tool_is_a_call_that_says_so(fixture: str) -> None:
    text = UNKNOWN[fixture]
    if fixture == HEADER:
        text = text.removeprefix("<|start|>assistant")
    (call,) = parsed(fixture, text).tool_calls
    assert (call.name, json.loads(call.arguments)) == ("nothing_such", {"a": 1})
    assert call.status is Status.UNKNOWN_TOOL


BROKEN = {
    JSON: "<tool_call>\nI would rather not.\n</tool_call>",
    ARRAY: "<TOOLCALL>[no]</TOOLCALL>",
    PYTHON: "<|tool_call_start|>[1 + 1]<|tool_call_end|>",
}


@pytest.mark.parametrize("fixture", BROKEN)
def test_a_call_that_cannot_be_read_stays_in_the_content(fixture: str) -> None:
    message = parsed(fixture, f"So: {BROKEN[fixture]}")
    assert not message.tool_calls
    assert message.content == f"So: {BROKEN[fixture]}"
    assert message.status is Status.MALFORMED


CUT = {
    JSON: '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Os',
    TAGGED: "<tool_call>\n<function=get_forecast>\n<parameter=city>\nOs",
    PAIRS: "<tool_call>get_forecast\n<arg_key>city</arg_key>\n<arg_value>Os",
    TOKENS: '[TOOL_CALLS]get_forecast[ARGS]{"city": "Os',
    PYTHON: "<|tool_call_start|>[get_forecast(city='Os",
    HEADER: (' to=functions.get_forecast<|channel|>commentary json<|message|>{"city": "Os'),
    SECTION: '<vireo:tool_call>\n<invoke name="get_forecast">\n<parameter name="city">Os',
    INVOKES: (
        "<|calls_section_begin|><|call_begin|>functions.get_forecast:0"
        '<|call_argument_begin|>{"city": "Os'
    ),
}


@pytest.mark.parametrize("fixture", CUT)
def test_a_call_that_the_end_cuts_is_partial(fixture: str) -> None:
    message = parsed(fixture, CUT[fixture], complete=False)
    assert not message.tool_calls
    assert message.status is Status.CUT
    assert message.partial_call is not None
    assert message.partial_call.name == "get_forecast"
    assert message.partial_call.arguments.startswith("{")
    assert message.content is None


@table(
    Line("to a header", HEADER, H_OSLO.removeprefix("<|start|>assistant"), (OSLO,)),
    Line(
        "behind the channels",
        HEADER,
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>preamble<|message|>"
        f"Hi.<|end|>{H_OSLO}",
        (OSLO,),
        "Hi.",
        "Hm.",
    ),
    Line("no call", HEADER, "<|channel|>analysis<|message|>Hm.<|end|>", reasoning="Hm."),
)
def test_headers_inside_a_turn(line: Line) -> None:
    check(line)
