"""An output that a limit has cut: what begins a marker is markup, whatever was cut."""

from __future__ import annotations

from functools import partial

import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.parsed_message import Status

from .loop import analysis_of, disagreement, fixture_names, generated, marker_texts, with_ids
from .test_forgiving import parsed
from .test_shapes import SHAPES

pytestmark = pytest.mark.slow

FIRST = ToolCall("update_record", {"title": "a b", "labels": ["x", "2"]}, "kL5mN7pQ2")
SECOND = ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "aB3dE6gH1")
MESSAGES = (
    Message("Fine.", "Hm.", (FIRST, SECOND)),
    Message("Let me look.", calls=(SECOND,)),
    Message("So.", "Hm."),
)


def between_words(text: str, end: int) -> bool:
    """Whether a cut there parts more than the letters of a word, in which no marker is whole."""
    return not text[max(0, end - 1) : end + 1].isalnum()


@pytest.mark.parametrize("name", sorted({*SHAPES, *fixture_names()}))
def test_no_marker_is_content_or_reasoning_wherever_the_output_is_cut(name: str) -> None:
    format_ = analysis_of(name).format
    for message in MESSAGES:
        try:
            text, parser = generated(format_, format_.write(with_ids(format_, message)))
        except RefusedMessageError:
            continue
        whole = parser.parse(text)
        markers = [
            marker
            for marker in marker_texts(format_)
            if marker not in f"{whole.content}\0{whole.reasoning_content}"
        ]
        for end in filter(partial(between_words, text), range(len(text))):
            found = parser.parse(text[:end], complete=False)
            prose = f"{found.content}\0{found.reasoning_content}"
            assert not [marker for marker in markers if marker in prose], text[:end]


CUT = (
    ("a1-function-parameter", "Hi.\n\n<tool_c", "Hi."),
    ("a1-function-parameter", "Hi.<", "Hi."),
    ("a1-function-parameter", "Hi.\n", "Hi.\n"),
    ("a1-function-parameter", "1 < 2 and 3", "1 < 2 and 3"),
    ("t2-recipient-header", "<|channel|>fin", None),
    ("p1-python-lines", "I get", "I get"),
)


@pytest.mark.parametrize(("fixture", "text", "content"), CUT)
def test_a_text_that_is_cut(fixture: str, text: str, content: str | None) -> None:
    message = parsed(fixture, text, complete=False)
    assert (message.content, message.status) == (content, Status.CUT)


SECOND_CALL = (
    "<tool_call>update_record\n<arg_key>title</arg_key>\n<arg_value>x</arg_value>\n</tool_call>\n"
    "<tool_call>get_forecast\n<arg_key>city</arg_key>"
)


def test_a_call_that_is_cut_between_key_and_value_is_cut() -> None:
    for end in range(SECOND_CALL.index("forecast") + 10, len(SECOND_CALL) + 1):
        text = SECOND_CALL[:end]
        message = parsed("a2-key-value-tags", text, complete=False)
        assert [call.name for call in message.tool_calls] == ["update_record"]
        assert message.partial_call is not None, text
        assert message.partial_call.name == "get_forecast"
        assert (message.content, message.malformed_calls) == (None, ())
        assert not disagreement(
            analysis_of("a2-key-value-tags").parser(), text, list(text), complete=False
        )
