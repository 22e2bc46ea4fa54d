"""The invented turn and call: every character has a name, and none is invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.reports.example import call_spans, example_call, example_message, turn_spans
from tests.fixture_analyses import analysed

FOLDER = Path(__file__).parents[2] / "fixtures" / "templates"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))


@pytest.mark.parametrize("name", NAMES)
def test_a_turn_is_what_the_format_writes_and_is_taken_apart(name: str) -> None:
    analysis = analysed(name)
    message = example_message(analysis.format)
    spans = turn_spans(analysis.format, analysis.markers, message)
    assert "".join(span.text for span in spans) == analysis.format.write(message)
    assert "turn" not in {span.label for span in spans}


@pytest.mark.parametrize("name", NAMES)
def test_a_call_is_what_the_format_writes_and_is_taken_apart(name: str) -> None:
    calls = analysed(name).format.calls
    if calls is None:
        return
    call = example_call(analysed(name).format, 0)
    spans = call_spans(calls, call)
    assert "".join(span.text for span in spans) == calls.write_call(call, 0)
    assert not {"call", "arguments"} & {span.label for span in spans}


def test_the_parts_of_a_turn_have_their_names() -> None:
    analysis = analysed("a1-function-parameter")
    message = example_message(analysis.format)
    spans = turn_spans(analysis.format, analysis.markers, message)
    assert [span.label for span in spans] == [
        "header",
        "reasoning opens",
        "reasoning",
        "reasoning closes",
        "content",
        "between",
        "call 1",
        "separator",
        "call 2",
        "turn ends",
    ]


def test_the_parts_of_a_call_have_their_names() -> None:
    analysis = analysed("a1-function-parameter")
    calls = analysis.format.calls
    assert calls is not None
    spans = call_spans(calls, example_call(analysis.format, 0))
    argument = ["argument opens", "argument's key", "key to value", "argument's value"]
    argument.append("argument closes")
    assert [span.label for span in spans] == [
        *("call opens", "name", "name to arguments"),
        *(*argument, "separator", *argument),
        "call closes",
    ]
