"""What a caller may ask of a parser beside the request: where reasoning goes, ids, how it ended."""

from __future__ import annotations

import re

import pytest

from autoparser.analysis.parsing.message_collector import CallIds
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind

from .loop import TOOLS, analysis_of, disagreement, gaps, streamed

JSON, TAGGED, BRACKETS = "j1-json-in-tags", "a1-function-parameter", "t1-name-then-json"
CHANNELS = "t2-recipient-header"
CALL = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("fixture", "prompt", "text", "content", "calls"),
    [
        (JSON, None, "<think>\nHm.\n</think>\n\nHi.", "<think>\nHm.\n</think>\n\nHi.", 0),
        (JSON, None, f"<think>\nHm.\n</think>\n\n{CALL}", "<think>\nHm.\n</think>", 1),
        (JSON, None, f"Hi. <think>Hm.</think>{CALL}", "Hi. <think>Hm.</think>", 1),
        (JSON, None, "<think>\n\n</think>\n\nHi.", "<think>\n\n</think>\n\nHi.", 0),
        (JSON, None, "<think>Hm.<|im_end|>", "<think>Hm.", 0),
        (JSON, None, "Hi.</think>there", "Hi.</think>there", 0),
        (
            TAGGED,
            "<|im_start|>assistant\n<think>\n",
            "Hm.\n</think>\n\nHi.<|im_end|>",
            "Hm.\n</think>\n\nHi.",
            0,
        ),
        (BRACKETS, None, "[THINK]Hm.[/THINK]Hi.", "[THINK]Hm.[/THINK]Hi.", 0),
    ],
)
def test_raw_reasoning_stands_in_the_content_with_its_markers(
    fixture: str, prompt: str | None, text: str, content: str, calls: int
) -> None:
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=prompt, reasoning="raw")
    message = parser.parse(text)
    assert (message.content, message.reasoning_content) == (content, None)
    assert len(message.tool_calls) == calls
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))
    # What is text, markup or junk does not depend on where it is shown.
    assert message.status is analysis.parser(TOOLS, prompt=prompt).parse(text).status


def test_headers_are_no_part_of_raw_reasoning() -> None:
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Hi.<|return|>"
    )
    parser = analysis_of(CHANNELS).parser(prompt="<|start|>assistant", reasoning="raw")
    assert parser.parse(text).content == "<|channel|>analysis<|message|>Hm.<|end|>Hi."
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    ("prompt", "text", "behind"),
    [
        (None, "<think>\nHm.\n</think>\n\nHi.", "\n\nHi."),
        (None, "<think>Hm.</think>Hi. <think>So.</think>", "Hi. <think>So.</think>"),
        (None, "</think>\n\nHi.", None),
        (None, "Hi.", None),
        (None, "<think>Hm.", None),
        ("<|im_start|>assistant\n<think>\n", "Hm.\n</think>\n\nHi.", "\n\nHi."),
        ("<|im_start|>assistant\n<think>\nSo. ", "Hm.</think>Hi.", "Hi."),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "Hi.", "Hi."),
        ("<|im_start|>assistant\n<think>\nHm.\n</think>\n\nSo", " hi.", " hi."),
    ],
)
def test_the_message_says_where_the_reasoning_ended(
    prompt: str | None, text: str, behind: str | None
) -> None:
    parser = analysis_of(JSON).parser(TOOLS, prompt=prompt)
    end = parser.parse(text).reasoning_end
    assert (None if end is None else text[end:]) == behind
    assert not disagreement(parser, text, list(text))


def test_a_stream_says_at_once_that_the_reasoning_ended() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    ends = [(stream.feed(char), stream.reasoning_end)[1] for char in "<think>Hm.</think>Hi."]
    assert ends == [None] * 17 + [18] * 4


@pytest.mark.parametrize(
    ("text", "complete", "reason"),
    [
        ("Hi.", True, "stop"),
        ("Hi.", False, "length"),
        (CALL, True, "tool_calls"),
        (CALL, False, "length"),
        (CALL.removesuffix('"}}\n</tool_call>'), True, "length"),
        ("<tool_call>nothing</tool_call>", True, "stop"),
    ],
)
def test_the_finish_reason_is_in_the_message_and_in_the_last_delta(
    text: str, complete: bool, reason: str
) -> None:
    parser = analysis_of(JSON).parser(TOOLS)
    assert parser.parse(text, complete=complete).to_openai()["finish_reason"] == reason
    found = streamed(parser, list(text), complete=complete)
    assert found.deltas[-1] == Delta(DeltaKind.FINISH, reason)
    assert found.deltas[-1].to_openai() == {"finish_reason": reason}
    assert DeltaKind.FINISH not in [delta.kind for delta in found.deltas[:-1]]


def test_a_message_that_goes_on_has_no_finish_reason() -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    stream.feed("Hi.")
    assert "finish_reason" not in stream.message.to_openai()
    assert [delta.text for delta in stream.finish()] == ["stop"]
    assert stream.finish() == []


def test_the_reasoning_is_given_under_the_name_that_is_asked_for() -> None:
    parser = analysis_of(JSON).parser()
    text = "<think>\nHm.\n</think>\n\nHi."
    assert parser.parse(text).to_openai(reasoning_field="reasoning")["reasoning"] == "Hm."
    first = streamed(parser, [text]).deltas[0]
    assert first.to_openai(reasoning_field="reasoning") == {"reasoning": "Hm."}
    assert first.to_openai() == {"reasoning_content": "Hm."}


def ids_of(parser_ids: object) -> list[str]:
    assert isinstance(parser_ids, list)
    return [call["id"] for call in parser_ids]


@pytest.mark.parametrize("whole", [False, True])
def test_ids_are_unlike_each_other_in_all_turns(whole: bool) -> None:
    parser = analysis_of(JSON).parser(TOOLS, call_deltas="whole" if whole else "incremental")
    ids: list[str] = []
    for _ in range(3):
        found = streamed(parser, list(f"{CALL}\n{CALL}"))
        streamed_ids = [delta.id for delta in found.deltas if delta.kind is DeltaKind.CALL]
        assert ids_of(found.message.to_openai()["tool_calls"]) == streamed_ids
        assert [call.id for call in found.message.tool_calls] == ["", ""]
        ids += streamed_ids
    assert len(set(ids)) == 6
    assert all(re.fullmatch("[A-Za-z0-9]{9}", each) for each in ids)


def test_a_seed_repeats_the_ids_and_a_maker_goes_on() -> None:
    def ids(call_ids: CallIds | int) -> list[str]:
        message = analysis_of(JSON).parser(TOOLS, call_ids=call_ids).parse(f"{CALL}\n{CALL}")
        return [call.made_id for call in message.tool_calls]

    maker = CallIds(7)
    first, second = ids(maker), ids(maker)
    assert ids(7) == first
    assert not {*first} & {*second}


def test_ids_may_be_made_by_the_caller() -> None:
    parser = analysis_of(JSON).parser(TOOLS, call_ids=lambda name, index: f"{name}:{index}")
    found = parser.parse(f"{CALL}\n{CALL}").to_openai()["tool_calls"]
    assert ids_of(found) == ["get_forecast:0", "get_forecast:1"]


def test_an_id_that_is_written_is_the_one() -> None:
    text = '<use name="get_forecast" id="abc123def">{"city": "x"}</use>'
    parser = analysis_of("call-id-between-func-and-args").parser(TOOLS, call_ids=1)
    written = parser.parse(text).tool_calls
    assert [(call.id, call.made_id) for call in written] == [("abc123def", "")]
