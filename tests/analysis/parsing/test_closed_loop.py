"""A fixture's turns are read back: the battery, random messages, and turns cut in many ways."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

import pytest

from autoparser import ChatTemplate, Message, OutputParser, Status, ToolCall, analyze
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from tests.fixture_analyses import TEMPLATES, TOKENS

from .loop import (
    analysis_of,
    disagreement,
    fixture_names,
    generated,
    lost_messages,
    marker_texts,
    with_ids,
)
from .messages import random_messages

pytestmark = pytest.mark.slow

ENOUGH = 0.99
RANDOM = 100
BATTERY = [case.message for case in battery_messages()]
UNOPENED = "nothing opens reasoning, so that text without its close is all reasoning"
UNESCAPED = "strings are written without their quotes escaped, or without quotes"
UNTOLD = "an array's empty items, and those that are not strings, are written like strings"
LOST: Mapping[str, tuple[str, int]] = {
    "j3-4-tagged-array": (UNOPENED, 11),
    "j8-python-dict": (UNOPENED, 11),
    "reasoning-delimiter": (UNOPENED, 11),
    "p1-3-double-quotes": (UNESCAPED, 42),
    "p1-4-unquoted": (UNESCAPED, 42),
    "a6-key-is-tag": (UNTOLD, 43),
}
"""Fixtures whose text itself is ambiguous: why, and how many of the battery come back."""

FIRST = ToolCall("get_forecast", {"city": "Oslo <1>", "days": 3}, "aB3dE6gH1")
SECOND = ToolCall("update_record", {"title": "a b", "labels": ["x", "2"]}, "kL5mN7pQ2")
MESSAGES = (
    Message("Let me look: 1 < 2.\nSo.", calls=(FIRST,)),
    Message(calls=(FIRST, SECOND)),
    Message("Fine.", "Hm.\nWeather?", (SECOND, FIRST)),
    Message("So.", "Hm."),
)


@pytest.mark.parametrize("name", fixture_names())
def test_battery_messages_parse_back(name: str) -> None:
    total, lost = lost_messages(analysis_of(name).format, BATTERY)
    needed = LOST[name][1] if name in LOST else total * ENOUGH
    assert total - len(lost) >= needed, f"{len(lost)} of {total}, first: {lost[0]}"
    assert lost or name not in LOST, "the exception is no longer needed"


@pytest.mark.parametrize("name", [name for name in fixture_names() if name not in LOST])
def test_random_messages_parse_back(name: str) -> None:
    total, lost = lost_messages(analysis_of(name).format, random_messages(RANDOM))
    assert len(lost) <= total * (1 - ENOUGH), f"{len(lost)} of {total}, first: {lost[0]}"


def turns_of(name: str, messages: Sequence[Message]) -> Iterator[tuple[str, OutputParser]]:
    """Write the messages that a fixture does not refuse."""
    format_ = analysis_of(name).format
    for message in messages:
        try:
            yield generated(format_, format_.write(with_ids(format_, message)))
        except RefusedMessageError:
            continue


@pytest.mark.parametrize("name", fixture_names())
def test_turn_parses_alike_in_every_chunking(name: str) -> None:
    source = random.Random(name)
    for text, parser in turns_of(name, MESSAGES):
        ends = (
            sorted(source.choices(range(len(text)), k=len(text) // size)) for size in (2, 5, 15)
        )
        cuts = [[text[a:b] for a, b in pairwise([0, *end, len(text)])] for end in ends]
        assert not disagreement(parser, text, list(text), *cuts)


@pytest.mark.parametrize(
    "name", [name for name in fixture_names() if LOST.get(name, ("",))[0] != UNOPENED]
)
def test_truncated_turn_is_a_prefix_of_the_whole_message(name: str) -> None:
    """Nothing is lost or retracted; a prefix of a marker is markup, not content or reasoning."""
    format_ = analysis_of(name).format
    for text, parser in turns_of(name, MESSAGES[1:3]):
        whole = parser.parse(text)
        prose = f"{whole.content}\0{whole.reasoning_content}"
        markers = [marker for marker in marker_texts(format_) if marker not in prose]
        for end in range(len(text)):
            cut, complete = text[:end], end % 2 == 0
            found = parser.parse(cut, complete=complete)
            names = [call.name for call in found.tool_calls]
            assert names == [call.name for call in whole.tool_calls][: len(names)], cut
            if end % 5 == 0:
                assert not disagreement(parser, cut, list(cut), complete=complete)
            if complete:
                continue
            assert found.status is Status.CUT, cut
            # A cut inside a word leaves no whole marker.
            if not text[max(0, end - 1) : end + 1].isalnum():
                prose = f"{found.content}\0{found.reasoning_content}"
                assert not [marker for marker in markers if marker in prose], cut


OPENING = ("[[", "{{", "((", "[|", "<<", "«", "%%", "::", "--", "@", "|", "#")
CLOSING = ("]]", "}}", "))", "|]", ">>", "»", "%%", "::", "--", "@", "|", "#")
AMBIGUOUS = {
    # A JSON object begins with the character that opens these tags.
    ("j2-2-tags-around-content", "{{"),
    ("j7-6-json-lines", "{{"),
    # Values of this notation may contain the character unquoted.
    ("g1-pseudo-json", "|"),
}
NAMES = sorted({*fixture_names()[::12], *(name for name, _ in AMBIGUOUS)})

_CONSTANT = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_TAG = re.compile(r"<(/?\|?/?\w[^<>{}'\"]*?)>")


@cache
def counts(text: str) -> tuple[int, int]:
    """Count the messages of the battery that are written right, and those that come back."""
    analysis = analyze(ChatTemplate(text, TOKENS))
    written, lost = lost_messages(analysis.format, BATTERY)
    return analysis.check.passed, written - len(lost)


@pytest.mark.parametrize(("opening", "closing"), [*zip(OPENING, CLOSING, strict=True)])
def test_tags_in_other_brackets_parse_alike(opening: str, closing: str) -> None:
    def constant(match: re.Match[str]) -> str:
        return _TAG.sub(lambda tag: f"{opening}{tag[1]}{closing}", match.group())

    changed = 0
    for name in NAMES:
        text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
        other = _CONSTANT.sub(constant, text)
        if other != text and (name, opening) not in AMBIGUOUS:
            changed += 1
            assert counts(other) == counts(text), name
    assert changed >= len(NAMES) // 2
