"""What a stream has sent stays what it is: of calls that break, are cut, are one too many."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.engines.chat_preparer import CompletionForm
from autoparser.analysis.engines.chat_request import CompletionEnd
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Status

from .loop import TOOLS, analysis_of, disagreement, streamed

JSON, TAGGED, PYTHON, IDS_BEHIND = (
    "j1-json-in-tags",
    "a1-function-parameter",
    "p2-python-in-tags",
    "call-id-post-args",
)
CITY = "Oslo, or wherever it is that you are now"
BEGUN = f'<tool_call>\n{{"name": "get_forecast", "arguments": {{"city": "{CITY}"'
CALL = f"{BEGUN}}}}}\n</tool_call>"
TAGGED_CALL = (
    f"<tool_call>\n<function=get_forecast>\n<parameter=city>\n{CITY}\n</parameter>\n"
    "</function>\n</tool_call>"
)


def parser_of(fixture: str = JSON, *, whole: bool = False, single: bool = False) -> OutputParser:
    analysis = analysis_of(fixture)
    return analysis.parser(
        TOOLS,
        prompt=analysis.format.header,
        call_deltas="whole" if whole else "incremental",
        parallel_tool_calls=not single,
        call_ids=lambda name, index: f"{name}:{index}",
    )


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("behind", "arguments"),
    [
        ("so\"}}\n", {"city": CITY}),
        (', "days": }}\n', {"city": CITY}),
        (', "days": [1, {"a": 2 x\n', {"city": CITY, "days": [1, {"a": 2}]}),
        ("}, oops}\n", {"city": CITY}),
    ],
)  # fmt: skip
def test_a_call_that_breaks_after_it_has_begun_keeps_its_place(
    behind: str, arguments: object, whole: bool
) -> None:
    text = f"Hi.\n{BEGUN}{behind}</tool_call>\n{CALL}<|im_end|>"
    parser = parser_of(whole=whole)
    message = parser.parse(text)
    first, second = message.tool_calls
    assert (first.name, first.status) == ("get_forecast", Status.MALFORMED)
    assert json.loads(first.arguments) == arguments
    assert (second.status, json.loads(second.arguments)) == (Status.OK, {"city": CITY})
    assert (message.status, message.finish_reason) == (Status.MALFORMED, "tool_calls")
    # What follows the place is content, without what closes the call.
    assert message.content is not None
    assert message.content.startswith("Hi.")
    assert "tool_call" not in message.content
    assert "city" not in message.content
    assert not disagreement(parser, text, list(text))


def test_a_call_that_breaks_before_it_has_begun_is_content_alone() -> None:
    text = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "a": "b"}}\n</tool_call>'
    found = streamed(parser_of(), list(text))
    assert found.content == found.message.content == text
    assert not found.calls


@pytest.mark.parametrize("whole", [False, True])
def test_a_cut_call_is_sent_as_far_as_it_is_certain(whole: bool) -> None:
    for text, more in ((CALL, 0), (TAGGED_CALL, 12)):
        parser = parser_of(JSON if text is CALL else TAGGED, whole=whole)
        for end in range(text.index("Oslo"), text.index(CITY) + len(CITY) + more):
            found = streamed(parser, list(text[:end]), complete=False)
            message = found.message
            assert message.partial_call is not None
            begun = '{"city": "' + text[text.index("Oslo") : end].partition("\n</")[0]
            # What may be the beginning of the closer is not sent.
            assert message.partial_call.arguments.startswith(begun.rstrip("\n<"))
            assert "</" not in message.partial_call.arguments
            assert found.calls == {0: ("get_forecast", message.partial_call.arguments)}
            assert message.finish_reason == "length"


@pytest.mark.parametrize("behind", ["", BEGUN[:40], BEGUN, f"{BEGUN}, x}}", CALL])
@pytest.mark.parametrize("complete", [True, False])
def test_nothing_of_a_surplus_call_is_sent(behind: str, complete: bool) -> None:
    parser = parser_of(single=True)
    text = f"{CALL}\n{behind}"
    found = streamed(parser, list(text), complete=complete)
    assert found.calls == {0: ("get_forecast", json.dumps({"city": CITY}))}
    assert found.message.partial_call is None
    assert not disagreement(parser, text, list(text), complete=complete)


@pytest.mark.parametrize("whole", [False, True])
def test_an_id_behind_the_arguments_does_not_take_back_the_one_that_was_sent(whole: bool) -> None:
    parser = parser_of(IDS_BEHIND, whole=whole)
    format_ = analysis_of(IDS_BEHIND).format
    assert format_.calls is not None
    text = format_.write(Message(calls=(ToolCall("get_forecast", {"city": CITY}, "aB3dE6gH1"),)))
    text = text.removeprefix(format_.header)
    (call,) = parser.parse(text).tool_calls
    assert call.id == "aB3dE6gH1"
    assert call.sent_id == ("aB3dE6gH1" if whole else "get_forecast:0")
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    "text", [CALL, BEGUN, f'{BEGUN}so"}}}}\n{CALL}', BEGUN[:60], f"Hi.\n{BEGUN}}}, oops}}"]
)
def test_the_events_of_a_served_stream_are_the_served_message(text: str) -> None:
    form, end = CompletionForm("model"), CompletionEnd("length")
    stream = parser_of().stream()
    deltas = [delta for piece in text for delta in stream.feed(piece)]
    events = form.events([*deltas, *stream.finish(complete=False)]).decode().split("data: ")[1:]
    chunks = [json.loads(event)["choices"][0] for event in events]
    document: Any = form.whole(parser_of().parse(text, complete=False), end, {})
    (choice,) = document["choices"]
    assert chunks[-1]["finish_reason"] == choice["finish_reason"] == "length"
    calls: list[dict[str, str]] = []
    for call in (call for chunk in chunks for call in chunk["delta"].get("tool_calls", ())):
        if "id" in call:
            calls.append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
        calls[call["index"]]["arguments"] += call["function"]["arguments"]
    content = "".join(chunk["delta"].get("content", "") for chunk in chunks)
    told = choice["message"]
    assert (content or None) == told["content"]
    assert calls == [{"id": each["id"], **each["function"]} for each in told.get("tool_calls", [])]


@pytest.mark.parametrize(
    ("fixture", "inside"),
    [
        (JSON, '{"name": "get_forecast", "arguments": {"city": "Oslo", "x": 1, "x": 2}}'),
        (
            TAGGED,
            "<function=get_forecast>\n<parameter=city>\nOslo\n</parameter>\n"
            "<parameter=x>\n1\n</parameter>\n<parameter=x>\n2\n</parameter>\n</function>",
        ),
    ],
)
def test_an_argument_that_is_written_twice_is_kept_twice(fixture: str, inside: str) -> None:
    text = f"<tool_call>\n{inside}\n</tool_call>"
    parser = parser_of(fixture)
    (call,) = parser.parse(text).tool_calls
    assert call.arguments == '{"city": "Oslo", "x": 1, "x": 2}'
    assert disagreement(parser, text, list(text)) == ""
