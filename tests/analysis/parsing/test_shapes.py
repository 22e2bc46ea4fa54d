"""Every shape of a call, cut everywhere: nothing raises, nothing is lost, nothing is taken back."""

from __future__ import annotations

import random

import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.parsed_message import Status

from .loop import (
    analysis_of,
    disagreement,
    fixture_names,
    generated,
    read,
    streamed,
    surviving,
    with_ids,
    writes_ids,
)
from .test_closed_loop import LOST, UNOPENED

pytestmark = pytest.mark.slow

SHAPES = [
    name for name in fixture_names() if name[0] in "jtagp" and name[1].isdigit() and name[2] == "-"
]
FIRST = ToolCall("get_forecast", {"city": "Oslo <1>", "days": 3}, "aB3dE6gH1")
SECOND = ToolCall("update_record", {"title": "a b", "labels": ["x", "2"]}, "kL5mN7pQ2")
MESSAGES = {
    "one call": Message(calls=(FIRST,)),
    "two calls": Message(calls=(FIRST, SECOND)),
    "content before": Message("Let me look: 1 < 2.\nSo.", calls=(FIRST,)),
    "reasoning before": Message(reasoning="Hm.\nWeather?", calls=(SECOND,)),
    "all of it": Message("Fine.", "Hm.", (SECOND, FIRST)),
}


def test_there_are_all_shapes() -> None:
    assert len(SHAPES) >= 76


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("what", MESSAGES)
def test_a_shape_is_read_however_it_comes(name: str, what: str) -> None:
    format_ = analysis_of(name).format
    message = with_ids(format_, MESSAGES[what])
    try:
        text, parser = generated(format_, format_.write(message))
    except RefusedMessageError:
        pytest.skip("the template refuses such a message")
    parsed = parser.parse(text)
    if LOST.get(name, ("",))[0] != UNOPENED:
        assert read(parsed, ids=writes_ids(format_)) == surviving(format_, message), text
        assert parsed.status is Status.OK
    rng = random.Random(name + what)
    ways = [list(text), *(_pieces(rng, text, longest) for longest in (3, 8, 30)), [text]]
    for pieces in ways:
        assert not disagreement(parser, text, pieces), pieces


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("what", "complete"), [("two calls", True), ("all of it", False)])
def test_a_shape_is_cut_at_every_character(name: str, what: str, complete: bool) -> None:
    format_ = analysis_of(name).format
    try:
        text, parser = generated(format_, format_.write(with_ids(format_, MESSAGES[what])))
    except RefusedMessageError:
        pytest.skip("the template refuses such a message")
    whole = parser.parse(text)
    for end in range(len(text) + 1):
        cut = text[:end]
        assert not disagreement(parser, cut, list(cut), complete=complete), cut
        found = parser.parse(cut, complete=complete)
        assert len(found.tool_calls) <= len(whole.tool_calls), cut
        names = [call.name for call in found.tool_calls]
        assert names == [call.name for call in whole.tool_calls][: len(names)], cut
        if not complete:
            assert found.status is Status.CUT, cut


@pytest.mark.parametrize("name", SHAPES)
def test_what_streamed_is_never_taken_back(name: str) -> None:
    """The deltas put together are the message: none of them is undone later."""
    format_ = analysis_of(name).format
    try:
        message = with_ids(format_, MESSAGES["all of it"])
        text, parser = generated(format_, format_.write(message))
    except RefusedMessageError:
        text, parser = generated(format_, format_.write(MESSAGES["one call"]))
    found = streamed(parser, list(text))
    parsed = found.message
    assert (found.reasoning, found.content) == (parsed.reasoning_content, parsed.content)
    assert list(found.calls.values()) == [(call.name, call.arguments) for call in parsed.tool_calls]
    assert list(found.calls) == list(range(len(parsed.tool_calls)))


def test_shapes_write_calls() -> None:
    for name in SHAPES:
        layouts = analysis_of(name).format.layouts
        assert any(TurnPart.CALLS in layout.parts for layout in layouts.values()), name


def _pieces(rng: random.Random, text: str, longest: int) -> list[str]:
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = rng.randint(1, longest)
        pieces.append(text[at : at + size])
        at += size
    return pieces
