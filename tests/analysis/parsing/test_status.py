"""What a message's status says of an output: an end that is missing, closers of nothing."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from autoparser.analysis.analysis import analyze
from autoparser.analysis.grammar.turn_rules import _stray_after_calls
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import SpanKind
from tests.analysis.tiny import CONTENT, turn

from .loop import TOOLS, analysis_of, disagreement, gaps

JSON = "j1-json-in-tags"
SECTION = "j1-6-section-around"
WRAPPED = "content-always-wrapped"
NAMED_CLOSERS = "a7-2-typed-arguments"
CALL = (
    '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
)
END = "<|im_end|>"


def parsed(fixture: str, text: str, *, complete: bool = True) -> ParsedMessage:
    """Parse what follows the header; every way of cutting must agree."""
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    message = parser.parse(text, complete=complete)
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text), complete=complete)
    return message


class Line(NamedTuple):
    """An output, what it means, and what of it is junk."""

    why: str
    fixture: str
    text: str
    status: Status
    content: str | None = None
    junk: tuple[str, ...] = ()


ENDS = (
    Line("nothing at all", JSON, "", Status.UNFINISHED),
    Line("content", JSON, "Hello.", Status.UNFINISHED, "Hello."),
    Line("its end", JSON, f"Hello.{END}", Status.OK, "Hello."),
    Line("half of its end", JSON, "Hello.<|im_", Status.UNFINISHED, "Hello.<|im_"),
    Line("a call", JSON, CALL, Status.UNFINISHED),
    Line("a call and its end", JSON, CALL + END, Status.OK),
    Line("missing closers are worse", JSON, CALL[:-13], Status.REPAIRED),
    Line("reasoning that never closes", JSON, "<think>\nHm.", Status.UNFINISHED),
    Line("a call that is none", JSON, "<tool_call>\n[]", Status.MALFORMED, "<tool_call>\n[]"),
)

CLOSERS = (
    Line(
        "of reasoning, in the content",
        JSON,
        f"I think so</think>Hello{END}",
        Status.STRAY,
        "I think soHello",
        ("</think>",),
    ),
    Line(
        "of reasoning, once more",
        JSON,
        f"<think>\nHm.\n</think>\n\n</think>\n\nHello{END}",
        Status.STRAY,
        "Hello",
        ("</think>",),
    ),
    Line(
        "of content, without its opening",
        WRAPPED,
        f"Hello\n</response>{END}",
        Status.STRAY,
        "Hello",
        ("\n</response>",),
    ),
    Line(
        "of content, as the template writes it",
        WRAPPED,
        f"<response>\nHello\n</response>{END}",
        Status.OK,
        "Hello",
    ),
    Line(
        "of content, once more",
        WRAPPED,
        f"<response>\nHello\n</response></response>{END}",
        Status.STRAY,
        "Hello",
        ("</response>",),
    ),
    Line(
        "of a call, once more",
        JSON,
        f"{CALL}\n</tool_call>{END}",
        Status.STRAY,
        None,
        ("\n</tool_call>",),
    ),
    Line(
        "of a call in a section, once more",
        SECTION,
        f"<tool_calls>\n{CALL}</tool_call>\n{CALL}\n</tool_calls>{END}",
        Status.STRAY,
        None,
        ("</tool_call>",),
    ),
    Line(
        "of a section, once more",
        SECTION,
        f"<tool_calls>\n{CALL}\n</tool_calls></tool_calls>{END}",
        Status.STRAY,
        None,
        ("</tool_calls>",),
    ),
    Line(
        "of a call, in the content: it may be quoted",
        JSON,
        f"A call ends with </tool_call>.{END}",
        Status.OK,
        "A call ends with </tool_call>.",
    ),
    Line(
        "of a call that could not be read: it is of its text",
        JSON,
        f"<tool_call>\nnonsense\n</tool_call>{END}",
        Status.MALFORMED,
        "<tool_call>\nnonsense\n</tool_call>",
    ),
    Line(
        "worse than closers that are missing",
        JSON,
        f"a</think>{CALL[:-13]}",
        Status.STRAY,
        "a",
        ("</think>",),
    ),
    Line(
        "without the turn's end, too",
        JSON,
        "a</think>b",
        Status.STRAY,
        "ab",
        ("</think>",),
    ),
)


@pytest.mark.parametrize("line", ENDS + CLOSERS, ids=lambda line: f"{line.why} ({line.fixture})")
def test_a_status_says_what_was_not_read_as_written(line: Line) -> None:
    message = parsed(line.fixture, line.text)
    assert message.status is line.status
    assert message.content == line.content
    spans = (span for span in message.spans if span.kind is SpanKind.JUNK)
    assert tuple(line.text[span.start : span.end] for span in spans) == line.junk


def test_the_end_that_is_missing_is_named() -> None:
    assert parsed(JSON, "Hello.").missing_end == END
    assert parsed(JSON, f"Hello.{END}").missing_end == ""
    cut = parsed(JSON, "Hello.", complete=False)
    assert (cut.status, cut.missing_end) == (Status.CUT, "")


def test_each_part_has_an_end_of_its_own() -> None:
    call = '<tool>{"name": "get_forecast", "arguments": {}}</tool>'
    assert parsed("end-differs-after-calls", "Hello.").missing_end == "<|eot|>"
    assert parsed("end-differs-after-calls", call).missing_end == "<|handover|>"


UNENDED = turn(CONTENT, opening="A:", end="\n")


def test_where_nothing_ends_a_turn_nothing_is_unfinished() -> None:
    assert analyze(UNENDED).parser().parse("Hello.").status is Status.OK


def test_a_turn_that_goes_on_is_unfinished() -> None:
    message = parsed("j3-8-header-recipient", "\nHello.")
    assert message.status is Status.UNFINISHED


def test_an_end_that_was_seen_outside_the_text_counts() -> None:
    message = parsed(JSON, "Hello.").ended()
    assert (message.status, message.missing_end) == (Status.OK, "")
    assert parsed(JSON, "a</think>").ended().status is Status.STRAY


def test_an_answer_by_a_schema_has_an_end_too() -> None:
    parser = analysis_of(JSON).parser(json_schema={"type": "object"})
    assert parser.parse('{"a": "</think>"}').status is Status.UNFINISHED
    assert parser.parse(f'{{"a": "</think>"}}{END}').status is Status.OK


def test_a_stream_is_not_unfinished_before_its_end() -> None:
    stream = analysis_of(JSON).parser().stream()
    stream.feed("Hello.")
    before = stream.message.status
    stream.finish()
    assert (before, stream.message.status) == (Status.OK, Status.UNFINISHED)


LEADING = turn("</why>", CONTENT, opening="A:", end="<|end|>\n")
"""Every turn begins with the close of reasoning that no turn shows."""


def test_a_closer_that_the_template_writes_is_not_stray() -> None:
    parser = analyze(LEADING).parser()
    message = parser.parse("</why>Hello.<|end|>")
    assert (message.content, message.status) == ("Hello.", Status.OK)


def test_a_grammar_keeps_stray_closers_out_of_the_content_after_calls() -> None:
    analysis = analysis_of("content-after-calls")
    call = '<tool>{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}</tool>'
    assert analysis.parser(TOOLS).parse(f"{call}</tool>Hi.").status is Status.STRAY
    assert _stray_after_calls(analysis.parser(TOOLS).turn) == ["</tool>"]
    assert _stray_after_calls(analysis_of(JSON).parser(TOOLS).turn) == []
