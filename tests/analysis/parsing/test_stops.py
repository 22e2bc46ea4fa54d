"""Stops in free text: the first that fits, the longest of them, and what has to be held back."""

from __future__ import annotations

import pytest

from autoparser.analysis.parsing.text_lookahead import StopTable
from autoparser.analysis.parsing.text_tape import SpanKind, TextLane, TextTape

STOPS = StopTable(
    [("\n\n", "</a>", "close"), ("", "</a>b", "longer"), (" ", "[x]", "x")], tail="\n"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("none here", None),
        ("a </a>", ("</a>", "close")),
        ("a </a>b", ("</a>b", "longer")),
        ("a [x] </a>", ("[x]", "x")),
        ("a </a", None),
    ],
)
def test_the_first_stop_is_found_the_longest_of_those_there(
    text: str, found: tuple[str, str] | None
) -> None:
    stop = STOPS.find(text, 0)
    assert (None if stop is None else (text[stop.start : stop.end], stop.label)) == found


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("words", "words"),
        ("words <", "words"),
        ("words </a", "words"),
        ("words </b", "words </b"),
        ("words\n\n\n", "words\n"),
        ("words\n[", "words"),
        ("a\tb\t", "a\tb\t"),
    ],
)
def test_only_what_may_become_a_stop_is_held_back(text: str, safe: str) -> None:
    assert text[: STOPS.safe(text, 0)] == safe
    assert STOPS.passed(text) == len(safe)


def test_whitespace_before_a_stop_is_the_template_s_as_far_as_it_writes_it() -> None:
    text = "words\n\n\n</a>"
    stop = STOPS.find(text, 0)
    assert stop is not None
    assert text[: STOPS.written_before(text, stop, 0)] == "words\n"


INNER = StopTable([("", "<open>call", "outer"), ("", "call", "inner"), ("", "call:x", "longer")])


@pytest.mark.parametrize(
    ("text", "unsure"),
    [
        ("call", True),
        ("call:", True),
        ("call:x", False),
        ("call ", False),
        ("<open>cal", None),
        ("<op<open>ca", None),
        ("< call ", False),
    ],
)
def test_an_earlier_or_a_longer_stop_may_still_come(text: str, unsure: bool | None) -> None:
    stop = INNER.find(text, 0)
    assert (None if stop is None else INNER.unsure(text, stop, 0)) is unsure


def test_a_stop_inside_what_may_become_another_is_not_sure() -> None:
    stops = StopTable([("", "<call>", "outer"), ("", "cal", "inner")])
    stop = stops.find("<cal", 0)
    assert stop is not None
    assert stops.unsure("<cal", stop, 0)
    assert not stops.unsure("<cal", stop, 1), "what was taken is not a part of a stop"


def test_what_comes_with_a_stop_does_not_pass() -> None:
    assert STOPS.passed("words </a> and more") is None


def test_without_stops_everything_passes() -> None:
    text = "<a> \n"
    stops = StopTable[None]([])
    assert (stops.search(text), stops.passed(text)) == (None, len(text))


def test_text_passes_by_its_reader_up_to_what_it_has_to_see() -> None:
    tape, taken = TextTape(), list[str]()
    lane = TextLane(STOPS.search, SpanKind.CONTENT, taken.append)
    tape.feed("ab")
    tape.take(2, SpanKind.CONTENT)
    assert tape.lane is None, "nobody said so"
    tape.pass_by(lane)
    for piece in ("cd", "ef"):
        assert lane.search(piece) is None
        lane.append(piece)
    assert lane.search("g<") is not None
    assert [(span.start, span.end) for span in tape.spans] == [(0, 6)]
    tape.leave_lane()
    tape.feed("g<")
    assert tape.lane is None, "the reader has to be asked again"
    assert (tape.text, tape.position, taken) == ("g<", 6, ["cd", "ef"])
    tape.take(2, SpanKind.MARKUP)
    assert [(span.start, span.end) for span in tape.spans] == [(0, 6), (6, 8)]


def test_nothing_passes_by_where_text_is_left_or_was_something_else() -> None:
    lane = TextLane(STOPS.search, SpanKind.CONTENT, list[str]().append)
    for count, kind in ((1, SpanKind.CONTENT), (2, SpanKind.MARKUP)):
        tape = TextTape()
        tape.feed("ab")
        tape.take(count, kind)
        tape.pass_by(lane)
        assert tape.lane is None


LOOSE = StopTable(
    [("\n", "<call>", "call"), ("\n", "<end>", "end"), ("", "<bare>", "call")], "", "call"
)


def test_other_whitespace_stands_for_the_template_s_before_a_loose_stop() -> None:
    def content(text: str) -> str:
        found = LOOSE.find(text, 0)
        assert found is not None
        return text[: LOOSE.written_before(text, found, 0)]

    assert content("Wait. <call>") == "Wait."
    assert content("Wait.  <call>") == "Wait. "
    assert content("Wait. \n<call>") == "Wait. "
    assert content("Wait. <end>") == "Wait. "
    assert content("Wait. <bare>") == "Wait. "


@pytest.mark.parametrize(
    ("text", "passed", "held"),
    [
        ("b ", "b", " "),
        (" ", "", " "),
        ("b \n ", "b \n", " "),
        ("b<e", "b", "<e"),
        ("b<a", "b<a", ""),
        ("b\n```py", "b", "\n```py"),
    ],
)
def test_a_lane_holds_what_may_begin_a_stop_at_the_end_of_what_passes(
    text: str, passed: str, held: str
) -> None:
    tape = TextTape()
    tape.feed("a\n")
    tape.take(1, SpanKind.CONTENT)
    lane = TextLane(LOOSE.search, SpanKind.CONTENT, list[str]().append, LOOSE.passed)
    tape.pass_by(lane)
    assert (tape.lane, lane.held) == (lane, "\n")
    assert (lane.passing(text), lane.held) == (passed, held)
    tape.leave_lane()
    assert (tape.text, tape.left(), tape.position) == (held, len(held), 1)
