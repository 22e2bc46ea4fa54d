"""Check when a stream sends a delta: as soon as it is certain, and never retracted.

That the deltas of a stream add up to its message is asked of every case in tests/parser_cases.
"""

from __future__ import annotations

import json
from types import FrameType
from typing import Any, Literal

import pytest

from autoparser import ChatTemplate, Message, StreamParser, ToolCall, analyze
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, Status
from autoparser.analysis.parsing.text_lookahead import StopTable
from autoparser.analysis.parsing.text_tape import TextLane
from tests.case_tables import case_tables

from .loop import TOOLS, analysis_of, streamed
from .test_growth import calls_of

table = case_tables(__file__, "streams.yaml")


JSON, TAGGED = "j1-json-in-tags", "a1-function-parameter"
ENTRIES = "a2-key-value-tags"
ENTRY = "<tool_call>get_forecast\n<arg_key>city</arg_key>\n<arg_value>"
CITY = "Oslo, or wherever it is that you are now"
BEGUN = f'<tool_call>\n{{"name": "get_forecast", "arguments": {{"city": "{CITY}"'
CALL = f"{BEGUN}}}}}\n</tool_call>"
TAGGED_CALL = (
    f"<tool_call>\n<function=get_forecast>\n<parameter=city>\n{CITY}\n</parameter>\n"
    "</function>\n</tool_call>"
)
HEADED = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.get_forecast <|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
)


def fed(stream: StreamParser, text: str) -> list[Delta]:
    """Feed a text by characters."""
    return [delta for char in text for delta in stream.feed(char)]


def test_end_of_reasoning_is_known_at_its_closer() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    ends = [(stream.feed(char), stream.reasoning_end)[1] for char in "<think>Hm.</think>Hi."]
    assert ends == [None] * 17 + [18] * 4


@pytest.mark.parametrize(
    ("fixture", "head", "piece", "written", "sign", "check", "checked"),
    [
        (JSON, BEGUN[:-1], " and so 'on'", " and so 'on'", '\\"', "decode", r'"\""'),
        (ENTRIES, f"{ENTRY}Oslo", ' "a"\nb', r" \"a\"\nb", "a <", "find", "a <"),
    ],
)
def test_argument_piece_is_searched_only_if_it_may_end_the_value(
    fixture: str,
    head: str,
    piece: str,
    written: str,
    sign: str,
    check: str,
    checked: str,
    recorded: Any,
) -> None:
    lanes = recorded(TextLane, "open")
    stream = analysis_of(fixture).parser(TOOLS).stream()
    stream.feed(f"{head}{' more' * 40}")
    searched = list[str]()
    setattr(lanes[-1][0], check, searched.append)
    assert [(delta.text, searched) for delta in stream.feed(piece)] == [(written, [])]
    stream.feed(sign)
    assert searched == [checked]


def test_finish_reason_is_the_last_delta_once() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    stream.feed("Hi.")
    assert (stream.message.status, stream.message.finish_reason) == (Status.OK, None)
    (last,) = stream.finish()
    assert last == Delta(DeltaKind.FINISH, "stop")
    choice = {"index": 1, "delta": {}, "finish_reason": "stop"}
    assert (last.to_openai(), last.to_openai_choice(1)) == ({"finish_reason": "stop"}, choice)
    message = {"role": "assistant", "content": "Hi."}
    assert stream.message.to_openai() == message
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    assert stream.message.to_openai_choice() == choice
    assert (stream.message.status, stream.message.finish_reason) == (Status.UNFINISHED, "stop")
    assert stream.finish() == []


def test_json_value_streams_while_its_code_fence_is_open() -> None:
    stream = analysis_of(JSON).parser(json_schema={}, strip_code_fence=True).stream()
    assert "".join(delta.text for delta in fed(stream, '```json\n{"a": 1')) == '{"a": 1'


def test_whole_calls_are_sent_when_closed() -> None:
    stream = analysis_of(JSON).parser(TOOLS, call_deltas="whole").stream()
    assert fed(stream, CALL.removesuffix("}\n</tool_call>")) == []
    late = [*stream.feed("}\n</tool_call>"), *stream.finish()]
    assert [delta.kind for delta in late] == [DeltaKind.CALL, DeltaKind.ARGUMENTS, DeltaKind.FINISH]
    assert json.loads(late[1].text) == {"city": CITY}


@pytest.mark.parametrize("call_deltas", ["incremental", "whole"])
@pytest.mark.parametrize(("fixture", "text"), [(JSON, CALL), (TAGGED, TAGGED_CALL)])
def test_cut_call_is_streamed_up_to_a_possible_closer(
    fixture: str, text: str, call_deltas: Literal["incremental", "whole"]
) -> None:
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header, call_deltas=call_deltas)
    begin, behind = text.index("Oslo"), text.index(CITY) + len(CITY)
    for end in range(begin, behind + 12 * (fixture == TAGGED)):
        found = streamed(parser, list(text[:end]), complete=False)
        call = found.message.partial_call
        assert call is not None
        value = text[begin:end].partition("\n</")[0].rstrip("\n<")
        assert call.arguments.startswith(f'{{"city": "{value}')
        assert "</" not in call.arguments
        assert found.calls == [("get_forecast", call.arguments)]


@pytest.mark.parametrize("behind", ["", BEGUN[:40], BEGUN, f"{BEGUN}, x}}", CALL])
@pytest.mark.parametrize("complete", [True, False])
def test_second_call_is_not_streamed_without_parallel_calls(behind: str, complete: bool) -> None:
    parser = analysis_of(JSON).parser(TOOLS, parallel_tool_calls=False)
    found = streamed(parser, list(f"{CALL}\n{behind}"), complete=complete)
    assert found.calls == [("get_forecast", json.dumps({"city": CITY}))]
    assert found.message.partial_call is None


@pytest.mark.parametrize("call_deltas", ["incremental", "whole"])
def test_late_call_id_does_not_replace_the_streamed_one(
    call_deltas: Literal["incremental", "whole"],
) -> None:
    analysis = analysis_of("call-id-post-args")
    parser = analysis.parser(
        TOOLS,
        prompt=analysis.format.header,
        call_deltas=call_deltas,
        call_ids=lambda name, index: f"{name}:{index}",
    )
    message = Message(calls=(ToolCall("get_forecast", {"city": CITY}, "aB3dE6gH1"),))
    text = analysis.format.write(message).removeprefix(analysis.format.header)
    for pieces in ([text], list(text)):
        (call,) = streamed(parser, pieces).message.tool_calls
        assert call.id == "aB3dE6gH1"
        assert call.sent_id == ("aB3dE6gH1" if call_deltas == "whole" else "get_forecast:0")


def test_call_opened_by_the_prompt_is_streamed_whole() -> None:
    analysis = analysis_of("t1-name-then-json")
    parser = analysis.parser(TOOLS, prompt="U:[TOOL_CALLS]get_forecast[ARGS]{")
    found = streamed(parser, ['"city": ', '"Oslo"}', "</s>"])
    assert found.deltas[0].kind is DeltaKind.CALL
    assert found.calls == [("get_forecast", '{"city": "Oslo"}')]


MUSED = ChatTemplate(
    "{% for m in messages %}{% if m.role == 'assistant' %}{|bot|}"
    "{% if m.reasoning_content %}(muse)\n{{ m.reasoning_content }}\n(/muse)\n{% endif %}"
    "(reply){{ m.content or '' }}(/reply){% for c in m.tool_calls or [] %}"
    '(call){"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}(/call)'
    "{% endfor %}{|done|}{% else %}{|user|}{{ m.content }}{|done|}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{|bot|}(muse)\n{% endif %}"
)


def test_reasoning_is_held_back_only_after_a_possible_call() -> None:
    call = '(call){"name": "get_forecast", "arguments": {"city": "Oslo"}}(/call)'
    stream = analyze(MUSED).parser(TOOLS).stream()
    assert "".join(delta.text for delta in stream.feed("Hm, let me see. ")) == "Hm, let me see. "
    assert stream.feed(f"{call} and ") == []
    assert stream.feed("more.\n(/muse)\n") == [Delta(DeltaKind.REASONING, f"{call} and more.")]


def test_long_reasoning_parses_alike_in_pieces() -> None:
    parser = analyze(MUSED).parser(TOOLS)
    text = "Hm. (call)" + " word" * 20_000 + "\n(/muse)\n(reply)Hi.(/reply){|done|}"
    found = streamed(parser, [text[at : at + 5] for at in range(0, len(text), 5)])
    assert found.message == parser.parse(text)
    assert found.message.content == "Hi."


@pytest.mark.parametrize(("fixture", "call"), [(JSON, CALL), (TAGGED, TAGGED_CALL)])
def test_markup_between_two_parts_is_scanned_once(fixture: str, call: str, recorded: Any) -> None:
    counted = recorded(StopTable, "find")
    stream = analysis_of(fixture).parser(TOOLS).stream()
    fed(stream, "<think>\nHm.")
    begun = len(counted)
    opener = call[: call.index("get_forecast")]
    fed(stream, f"\n</think>\n\n{opener}")
    assert len(counted) == begun
    fed(stream, call.removeprefix(opener))
    assert stream.message.tool_calls


def besides_feed(frame: FrameType, event: str) -> bool:
    """Return whether a function of the package other than `feed` is called."""
    code = frame.f_code
    return event == "call" and code.co_name != "feed" and code.co_filename != __file__


@table("short_answers")
def test_short_answer_in_single_characters_runs_few_functions(
    fixture: str, text: str, most: int
) -> None:
    analysis = analysis_of(fixture)

    def answer() -> StreamParser:
        stream = analysis.parser(TOOLS).stream()
        fed(stream, text)
        return stream

    # The texts of a format are prepared for its first answer.
    assert answer().message.tool_calls
    assert 0 < calls_of(answer, besides_feed) < most


def wakes_reader(frame: FrameType, event: str) -> bool:
    """Return whether the reader of the turn goes on."""
    return event == "call" and frame.f_code.co_qualname == "TurnReader.read"


@pytest.mark.parametrize(("fixture", "call"), [(JSON, CALL), (TAGGED, TAGGED_CALL)])
def test_each_further_call_wakes_its_reader_once(fixture: str, call: str) -> None:
    stream = analysis_of(fixture).parser(TOOLS).stream()
    fed(stream, f"<think>\nHm.\n</think>\n\n{call}\n{call}")
    woken = calls_of(lambda: fed(stream, f"\n{call}" * 3), wakes_reader)
    assert len(stream.message.tool_calls) == 5
    assert woken == 3


@table("further_calls")
def test_further_calls_run_few_functions(fixture: str, head: str, call: str, most: int) -> None:
    stream = analysis_of(fixture).parser(TOOLS).stream()
    stream.feed(f"{head}{call}{call}")
    taken = [
        calls_of(lambda: stream.feed(call * 3), lambda _, event: "call" in event) for _ in range(2)
    ]
    # The text behind the last call of a list shows that it has closed.
    assert len(stream.message.tool_calls) >= 7
    # Ids are drawn for many calls at once, so one of the two may have drawn them.
    assert 0 < min(taken) < most


@table("escapes")
def test_escapes_of_a_long_string_are_read_the_same_in_any_pieces(written: str, value: str) -> None:
    more = " more" * 40
    text = f'{BEGUN[:-1]}{more} {written}{written}"}}}}\n</tool_call>'
    for size in range(1, 17):
        stream = analysis_of(JSON).parser(TOOLS).stream()
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        deltas = [delta for piece in pieces for delta in stream.feed(piece)]
        sent = "".join(delta.text for delta in deltas if delta.kind is DeltaKind.ARGUMENTS)
        assert json.loads(sent) == {"city": f"{CITY}{more} {value}{value}"}


def test_markup_after_a_long_value_wakes_its_reader_once_per_part() -> None:
    stream = analysis_of(TAGGED).parser(TOOLS).stream()
    call = TAGGED_CALL.replace(CITY, f"{CITY}{' more' * 40}")
    fed(stream, f"<think>\nHm.\n</think>\n\n{call.partition('</parameter>')[0].rstrip()}")
    # The value ends where the closer of its call begins, and that is awaited as a whole.
    assert calls_of(lambda: fed(stream, "\n</parameter>\n</function>"), wakes_reader) == 1
    assert calls_of(lambda: fed(stream, "\n</tool_call>"), wakes_reader) == 1
    assert [call.status for call in stream.message.tool_calls] == [Status.OK]


def test_text_before_a_closer_in_its_piece_passes_without_the_reader() -> None:
    stream = analysis_of(TAGGED).parser(TOOLS).stream()
    call = TAGGED_CALL.replace(CITY, f"{CITY}{' more' * 40}")
    fed(stream, f"<think>\nHm.\n</think>\n\n{call.partition('</parameter>')[0].rstrip()}")
    deltas: list[Delta] = []
    piece = " and more\n</parameter>\n</func"
    assert calls_of(lambda: deltas.extend(stream.feed(piece)), wakes_reader) == 0
    assert [delta.text for delta in deltas] == [" and more"]
    assert calls_of(lambda: stream.feed("tion>\n</tool"), wakes_reader) == 1
    assert calls_of(lambda: stream.feed("_call>"), wakes_reader) == 1


def test_number_behind_a_long_value_wakes_its_reader_once() -> None:
    stream = analysis_of(TAGGED).parser(TOOLS).stream()
    call = TAGGED_CALL.replace(CITY, f"{CITY}{' more' * 40}")
    begun = call.partition("</function>")[0]
    fed(stream, f"<think>\nHm.\n</think>\n\n{begun}<parameter=days>\n")
    assert calls_of(lambda: fed(stream, "3\n</parameter>\n</function>"), wakes_reader) == 1
    fed(stream, "\n</tool_call>")
    (read,) = stream.message.tool_calls
    assert (json.loads(read.arguments)["days"], read.status) == (3, Status.OK)


def test_json_escapes_pass_without_their_reader() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    fed(stream, f"{BEGUN[:-1]}{' more' * 40}")
    sent: list[Delta] = []
    code = r" \"a\"\n    return\n"
    assert calls_of(lambda: sent.extend(fed(stream, code)), besides_feed) == 0
    assert "".join(delta.text for delta in sent) == code


def test_indented_lines_pass_without_a_stop_search() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    code = ":\n\n    def f(x):\n        return x\n\n    print(f(3))\n"
    fed(stream, "<think>\nHm.\n</think>\n\nSee")
    sent: list[Delta] = []
    assert calls_of(lambda: sent.extend(fed(stream, code)), besides_feed) == 0
    assert "".join(delta.text for delta in sent) == code.rstrip()


@pytest.mark.parametrize("front", ["</func", "</function", "</tool_call"])
def test_closer_prefix_before_a_second_call_is_stray_for_every_chunking(front: str) -> None:
    analysis = analysis_of(TAGGED)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    text = f"{TAGGED_CALL}\n{front}{TAGGED_CALL}"
    for pieces in ([text], list(text), [text[at : at + 5] for at in range(0, len(text), 5)]):
        found = streamed(parser, pieces)
        assert (len(found.calls), found.message.content) == (2, None)
        assert found.message.status is Status.STRAY


def test_closer_prefix_before_the_closer_is_stray_for_every_chunking() -> None:
    analysis = analysis_of("t4-name-separator-json")
    calls = analysis.format.calls
    assert calls is not None
    written = calls.write([ToolCall("get_weather", {"city": "Rio"})])
    close = calls.section_close
    text = f"{written.removesuffix(close)}{close[:2]}{close}{analysis.format.ends[0].text}"
    parser = analysis.parser(TOOLS)
    for size in (1, 2, 3, 5, 7, len(text)):
        found = streamed(parser, [text[at : at + size] for at in range(0, len(text), size)])
        assert (len(found.calls), found.message.content) == (1, None)
        assert found.message.status is Status.STRAY


@pytest.mark.parametrize("closer", ["</｜XSML｜<calls>", "</｜>XSML｜calls>"])
def test_closer_lookalike_parses_alike_for_every_chunking(closer: str) -> None:
    call = '<｜XSML｜invoke name="list_rooms">\n</｜XSML｜invoke>\n'
    text = f"<｜XSML｜calls>\n{call}{closer}<｜end▁of▁turn｜>"
    parser = analysis_of("a4-type-flags").parser(TOOLS)
    found = streamed(parser, list(text))
    assert found.message.content is parser.parse(text).content is None


def test_broken_closer_after_a_value_parses_alike_for_every_chunking() -> None:
    text = "!run update_record\n  - active: true\n!rue\n!end\n\n\n"
    parser = analysis_of("novel-indented-lines").parser(TOOLS)
    expected = parser.parse(text)
    assert [call.arguments for call in expected.tool_calls] == ['{"active": true}']
    for size in range(1, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert streamed(parser, pieces).message == expected


def test_marker_in_a_long_value_does_not_cut_it() -> None:
    analysis = analysis_of(TAGGED)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    for title in ("<tool_call> " + "x" * 40_000, ("<tool_call> " + "y" * 9_000) * 4):
        text = (
            f"<tool_call>\n<function=update_record>\n<parameter=title>\n{title}\n</parameter>\n"
            "</function>\n</tool_call>"
        )
        for pieces in ([text], [text[at : at + 7] for at in range(0, len(text), 7)]):
            (call,) = streamed(parser, pieces).message.tool_calls
            assert json.loads(call.arguments) == {"title": title}
