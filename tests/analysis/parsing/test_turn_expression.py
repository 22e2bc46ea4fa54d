"""The expression of a turn, from formats of different kinds."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import JsonCall, RowCall, TurnStart, request_of
from tests.analysis.parsing.loop import TOOLS, analysis_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("", "", "")),
        ("\n\n", ("\n\n", "", "")),
        ("\n<a>\n", ("\n", "<a>", "\n")),
        ("a b", ("", "a b", "")),
    ],
)
def test_a_literal_is_cut_at_its_edges(text: str, parts: tuple[str, str, str]) -> None:
    literal = TemplateLiteral.of(text)
    assert (literal.before, literal.core, literal.after) == parts
    assert literal.text == text


@pytest.mark.parametrize(
    ("fixture", "kind"),
    [
        ("j1-json-in-tags", JsonCall),
        ("j3-json-array", JsonCall),
        ("a1-function-parameter", RowCall),
        ("a2-key-value-tags", RowCall),
        ("t1-name-then-json", RowCall),
        ("p1-2-python-list", RowCall),
    ],
)
def test_a_call_is_an_object_or_a_row(fixture: str, kind: type) -> None:
    turn = build_expression(analysis_of(fixture).formats, request_of(TOOLS))
    assert turn.calls is not None
    assert isinstance(turn.calls.call, kind)


def test_without_calls_there_is_no_section() -> None:
    turn = build_expression(
        analysis_of("j1-json-in-tags").formats, request_of(TOOLS, tool_choice="none")
    )
    assert turn.calls is None


@pytest.mark.parametrize(
    ("fixture", "prompt", "start"),
    [
        ("j1-json-in-tags", None, TurnStart.HEADER),
        ("j1-json-in-tags", "x<|im_start|>assistant\n", TurnStart.HEADER),
        ("j1-json-in-tags", "x<|im_start|>assistant\n<think>\n\n</think>\n\n", TurnStart.CONTENT),
        ("a1-function-parameter", None, TurnStart.REASONING),
        ("a1-function-parameter", "x<|im_start|>assistant\n<think>\n", TurnStart.REASONING),
        ("t2-recipient-header", None, TurnStart.HEADER),
    ],
)
def test_the_prompt_says_where_the_turn_begins(
    fixture: str, prompt: str | None, start: TurnStart
) -> None:
    turn = build_expression(analysis_of(fixture).formats, request_of(TOOLS, prompt=prompt))
    assert turn.start is start
