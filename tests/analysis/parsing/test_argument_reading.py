"""Reading arguments in the notation of every fixture."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.schema_keywords import type_of
from autoparser.analysis.parsing.argument_reader import read_arguments
from autoparser.analysis.parsing.json_text import ReadOutcome
from autoparser.analysis.parsing.text_tape import TextTape
from tests.analysis.parsing.loop import analysis_of

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[3] / "fixtures" / "templates"
STOP = "\n<the end of it>"

ARGUMENTS: list[dict[str, Any]] = [
    {"city": "Oslo", "days": 3},
    {"title": "plain words"},
    {"title": "first\n\tsecond\n\nlast"},
    {"title": "<b>bold</b> & <br/> [x] {y} %}"},
    {"title": "007"},
    {"active": True, "dry": False, "count": -7, "ratio": 2.5},
    {"labels": [1, -2.5, True, "x", ["y", 2], {"k": "v"}]},
    {"options": {"mode": "fast", "depth": 3, "dry": False}},
]

CANNOT = {
    "p1-4-unquoted": "its strings are not quoted",
}
"""Fixtures whose arguments cannot be read back in full, and what in them is to blame."""


@lru_cache(maxsize=1)
def formats() -> dict[str, ArgumentFormat]:
    found: dict[str, ArgumentFormat] = {}
    for path in sorted(FIXTURES.glob("*.jinja")):
        calls = analysis_of(path.stem).format.calls
        if calls is not None:
            found[path.stem] = calls.arguments
    return found


def schema_of(arguments: dict[str, Any]) -> dict[str, Any]:
    properties = {key: {"type": str(type_of(value))} for key, value in arguments.items()}
    return {"type": "object", "properties": properties}


def read(arguments: ArgumentFormat, text: str, size: int, schema: dict[str, Any]) -> str:
    tape, emitted = TextTape(), list[str]()
    reading = read_arguments(tape, arguments, schema, (STOP.strip(),), emitted.append)
    outcome = None
    try:
        next(reading)
        for at in range(0, len(text), size):
            tape.leave_lane()
            tape.feed(text[at : at + size])
            next(reading)
        tape.leave_lane()
        tape.closed = tape.complete = True
        next(reading)
    except StopIteration as end:
        outcome = end.value
    assert outcome in (ReadOutcome.COMPLETE, ReadOutcome.REPAIRED), outcome
    return "".join(emitted)


NAMES = sorted(path.stem for path in FIXTURES.glob("*.jinja"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CANNOT])
def test_arguments_come_back(name: str) -> None:
    arguments = formats().get(name)
    if arguments is None:
        return
    for sample in ARGUMENTS:
        if any(type_of(value) in arguments.refused for value in sample.values()):
            continue
        text = arguments.write(sample) + STOP
        schema = schema_of(sample)
        whole = read(arguments, text, len(text), schema)
        assert json.loads(whole) == sample, (name, text)
        for size in (1, 2, 5):
            assert read(arguments, text, size, schema) == whole


@pytest.mark.parametrize("name", sorted(set(CANNOT) & set(NAMES)))
def test_the_exceptions_are_needed(name: str) -> None:
    arguments = formats().get(name)
    assert arguments is None or not all(comes_back(arguments, sample) for sample in ARGUMENTS)


def comes_back(arguments: ArgumentFormat, sample: dict[str, Any]) -> bool:
    text = arguments.write(sample) + STOP
    try:
        return bool(json.loads(read(arguments, text, len(text), schema_of(sample))) == sample)
    except (AssertionError, ValueError):
        return False


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("say <parameter=what> now", 3),
        ("say <parameter=", 3),
        ("say <parameter=days now", 3),
        ("a </parameter> b", 3),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 200])
def test_a_marker_that_leads_nowhere_is_text_of_a_value(value: str, days: int, size: int) -> None:
    text = (
        f"<parameter=city>\n{value}\n</parameter>\n<parameter=days>\n{days}\n</parameter>\n{STOP}"
    )
    schema = schema_of({"city": value, "days": days})
    written = read(formats()["a1-function-parameter"], text, size, schema)
    assert json.loads(written) == {"city": value, "days": days}


@pytest.mark.parametrize(
    ("value", "read_as"),
    [
        # A closer in a string is text, also with what would follow a real one after it.
        ('{"a": "x</parameter> y"}', {"a": "x</parameter> y"}),
        ('{"a": "x\n</parameter>\n<parameter=days>"}', {"a": "x\n</parameter>\n<parameter=days>"}),
        ('{"</parameter>\n<the end of it>": [1]}', {"</parameter>\n<the end of it>": [1]}),
        # Where the value is not whole otherwise, the first one did close it.
        ('{"a": "x', '{"a": "x'),
        # A number that no float can hold stays as it is written.
        ('{"a": 1e999}', {"a": float("inf")}),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 500])
def test_a_closer_in_a_string_is_text(value: str, read_as: object, size: int) -> None:
    text = f"<parameter=options>\n{value}\n</parameter>\n<parameter=days>\n3\n</parameter>\n{STOP}"
    schema = {
        "type": "object",
        "properties": {"options": {"type": "object"}, "days": {"type": "integer"}},
    }
    written = read(formats()["a1-function-parameter"], text, size, schema)
    assert json.loads(written) == {"options": read_as, "days": 3}
