"""Reading JSON: what is valid passes as it is, what Python writes is rewritten, cuts are seen."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from autoparser.analysis.parsing.json_text import ReadOutcome, read_json
from autoparser.analysis.parsing.text_tape import TextTape

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(
    pieces: Sequence[str], stops: tuple[str, ...] = (), *, finish: bool = True
) -> tuple[str, ReadOutcome | None, str]:
    """Return what was emitted, how it ended, and what was left."""
    tape, emitted = TextTape(), list[str]()
    reading = read_json(tape, emitted.append, stops)
    outcome: ReadOutcome | None = None
    try:
        next(reading)
        for piece in pieces:
            tape.feed(piece)
            next(reading)
        tape.closed, tape.complete = True, finish
        next(reading)
    except StopIteration as end:
        outcome = end.value
    rest = tape.text[tape.at :]
    return "".join(emitted), outcome, rest


def in_pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.sampled_from((None, 2)))
def test_json_passes_byte_for_byte(value: object, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assert read([text]) == (text, ReadOutcome.COMPLETE, "")


@given(VALUES.filter(lambda value: isinstance(value, list | dict)))
def test_python_literals_become_json(value: object) -> None:
    emitted, outcome, _ = read([repr(value)])
    assert outcome is ReadOutcome.COMPLETE
    assert json.loads(emitted) == value


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.integers(1, 7))
def test_every_way_of_cutting_gives_the_same(value: object, size: int) -> None:
    for text in (json.dumps(value), repr(value)):
        whole, outcome, _ = read([text])
        cut, cut_outcome, _ = read(in_pieces(text, size))
        assert (cut, cut_outcome) == (whole, outcome)


@pytest.mark.parametrize(
    ("text", "stops", "emitted", "outcome", "rest"),
    [
        ('{"a": "</call>"} tail', (), '{"a": "</call>"}', ReadOutcome.COMPLETE, " tail"),
        ('{"a": [1, 2}', (), '{"a": [1, 2]}', ReadOutcome.REPAIRED, ""),
        ('{"a": 1</call>', ("</call>",), '{"a": 1}', ReadOutcome.REPAIRED, "</call>"),
        ('{"a": 1', (), '{"a": 1}', ReadOutcome.REPAIRED, ""),
        ('{"a": "cut in the mid', (), '{"a": "cut in the mid', ReadOutcome.CUT, ""),
        (
            "{'a': 'it\\'s', 'b': (1, True,)}",
            (),
            '{"a": "it\'s", "b": [1, true]}',
            ReadOutcome.COMPLETE,
            "",
        ),
        ('{"a": "line\nbreak"}', (), '{"a": "line\\nbreak"}', ReadOutcome.COMPLETE, ""),
        ('{a: 1, "b": 2,}', (), '{"a": 1, "b": 2}', ReadOutcome.COMPLETE, ""),
        ("hello", (), "", ReadOutcome.BAD, "hello"),
        ("hello there", (), "", ReadOutcome.BAD, "hello there"),
        ("<x>", (), "", ReadOutcome.BAD, "<x>"),
        ('{"a": 1, "b"', (), '{"a": 1, "b"', ReadOutcome.CUT, ""),
        ('{"a": 1, "b"}', (), '{"a": 1', ReadOutcome.BAD, "}"),
        ('{"a": 1, "b": ', (), '{"a": 1, "b": ', ReadOutcome.CUT, ""),
        ('{"a": 1, "b":}', (), '{"a": 1', ReadOutcome.BAD, "}"),
        ('{"a": 1, ', (), '{"a": 1}', ReadOutcome.REPAIRED, ""),
        ('{"a": "b": "c"}', (), '{"a": "b"', ReadOutcome.BAD, ': "c"}'),
        ('{"a" "b"}', (), "{", ReadOutcome.BAD, '"b"}'),
        ('{"a": 1,, "b": 2}', (), '{"a": 1', ReadOutcome.BAD, ', "b": 2}'),
        ("[, 1]", (), "[", ReadOutcome.BAD, ", 1]"),
        ("[1 2]", (), "[1", ReadOutcome.BAD, "2]"),
        ('{\xa0"a"\u2003:\n1\x1f}', (), '{ "a" :\n1 }', ReadOutcome.COMPLETE, ""),
        ("[5\u0663]", (), "[", ReadOutcome.BAD, "5\u0663]"),
    ],
)
def test_what_models_write(
    text: str, stops: tuple[str, ...], emitted: str, outcome: ReadOutcome, rest: str
) -> None:
    assert read([text], stops) == (emitted, outcome, rest)


@given(st.text("{}[]:,\"'a1 "))
def test_what_is_not_cut_or_bad_is_valid_json(text: str) -> None:
    for value in (text, "{" + text, '{"a": ' + text):
        emitted, outcome, _ = read([value])
        if outcome in (ReadOutcome.COMPLETE, ReadOutcome.REPAIRED):
            json.loads(emitted)


@given(st.text())
def test_nothing_raises(text: str) -> None:
    read(in_pieces(text, 2))
    read(in_pieces("{" + text, 3))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\x1f\xe9'", "\x1f\xe9"),
        (r"'\U0001f680'", "\U0001f680"),
        (r"'\xg1 \U00110000'", r"\xg1 \U00110000"),
        (r"'C:\new'", "C:\new"),
    ],
)
def test_escapes_of_python_are_read(text: str, value: str) -> None:
    for size in (1, 3, 40):
        emitted, outcome, _ = read(in_pieces(text, size))
        assert (json.loads(emitted), outcome) == (value, ReadOutcome.COMPLETE)
