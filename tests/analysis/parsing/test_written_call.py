"""Check the fast path for rendered calls against the general reader."""

from __future__ import annotations

import random
from pathlib import Path
from unittest import mock

import pytest

from autoparser import ChatTemplate, Message, OutputParser, ToolCall
from autoparser.analysis.parsing.message_collector import MessageCollector
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage
from autoparser.analysis.parsing.text_tape import Reading, TextTape
from autoparser.analysis.parsing.written_call import WrittenCall
from tests.corpus.corpus_templates import own_paths
from tests.fixture_analyses import TOKENS, analyzed
from tests.fuzz.__main__ import target_of
from tests.fuzz.edits import cut, edited
from tests.lanes import sampled
from tests.offers import tool

TOOLS = [tool("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}})]
PROSE = (DeltaKind.REASONING, DeltaKind.CONTENT)
WRITTEN = (
    *("a1-function-parameter", "a2-key-value-tags", "a3-invoke-parameter", "j1-json-in-tags"),
    *("t2-recipient-header", "t4-name-separator-json", "t5-id-carries-name"),
)


@pytest.mark.parametrize("name", WRITTEN)
def test_short_call_is_scanned_once(name: str) -> None:
    analysis = analyzed(name)
    call = ToolCall("get_weather", {"city": "Oslo", "days": 3}, "call-1")
    text = analysis.format.write(Message(calls=(call,)))
    taken = WrittenCall._take
    with mock.patch.object(WrittenCall, "_take", autospec=True, side_effect=taken) as looked:
        stream = analysis.parser(TOOLS, reasoning_over=True).stream()
        deltas = [delta for sign in text for delta in stream.feed(sign)]
    assert looked.call_count == 1
    calls = [delta.kind for delta in deltas if delta.kind not in PROSE]
    assert calls == [DeltaKind.CALL, DeltaKind.ARGUMENTS]


def _declines(self: WrittenCall, tape: TextTape, collector: MessageCollector) -> Reading[bool]:
    """Leave every call to the readers of departures."""
    del self, tape, collector
    yield from ()
    return False


Read = tuple[ParsedMessage, dict[tuple[DeltaKind, int], str]]


def _read(parser: OutputParser, pieces: list[str], *, complete: bool) -> Read:
    stream = parser.stream()
    deltas: list[Delta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    texts: dict[tuple[DeltaKind, int], str] = {}
    for delta in (*deltas, *stream.finish(complete=complete)):
        case = delta.kind, delta.index
        texts[case] = texts.get(case, "") + delta.text
    return stream.message, texts


@pytest.mark.parametrize("path", sampled(own_paths(), 9))
def test_fast_call_reading_equals_the_stepwise_one(path: Path) -> None:
    rng = random.Random(path.stem)
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS)
    target = target_of(template, name=path.stem)
    assert target is not None
    for text, parser in target.turns:
        for spoiled in (text, edited(rng, text, target.pieces, 1)):
            complete = rng.random() < 0.7
            for pieces in ([spoiled], cut(rng, spoiled)):
                at_once = _read(parser, pieces, complete=complete)
                with mock.patch.object(WrittenCall, "read", _declines):
                    assert _read(parser, pieces, complete=complete) == at_once, spoiled
