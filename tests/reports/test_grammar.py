"""The grammar of a turn: every kind of call has its rules, and nothing moves a cursor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser.analysis.parsing.expression_document import expression_document
from autoparser.reports import grammar_report, turn_expression
from tests.fixture_analyses import analysed

TEMPLATES = Path(__file__).parents[2] / "fixtures" / "templates"

RULES = [
    # template, a line of its grammar
    ("j1-json-in-tags", "prompt         the text begins after the header"),
    ("j1-json-in-tags", "call         `<tool_call>↵` {`name`: name, `arguments`: arguments}"),
    ("a1-function-parameter", "prompt         the text begins in the reasoning"),
    ("a1-function-parameter", "reasoning      `<think>↵` text `↵</think>↵↵`"),
    ("a1-function-parameter", "arguments  (pair (`↵` pair)*)?"),
    ("a1-function-parameter", "pair     `<parameter=` key `>↵` value `↵</parameter>`"),
    ("a1-function-parameter", "boolean  `True` / `False`"),
    ("j5-name-is-key", "{name: arguments}"),
    ("reasoning-in-prompt-words", "content    text"),
]


@pytest.mark.parametrize(("name", "line"), RULES)
def test_a_rule_is_shown(name: str, line: str) -> None:
    assert line in grammar_report(analysed(name), 80).plain


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.jinja")), ids=lambda path: path.stem)
def test_every_grammar_fits_and_is_json(path: Path) -> None:
    analysis = analysed(path.stem)
    for line in grammar_report(analysis, 80).plain.splitlines():
        assert len(line) <= 80
        assert line.isprintable()
    document = expression_document(turn_expression(analysis))
    assert json.loads(json.dumps(document)) == document
