"""Check that names, descriptions and enum values of a request cannot inject rules."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

import pytest

from autoparser import Analysis, Json, OpaqueTokens
from tests.analysis.parsing.loop import analysis_of
from tests.offers import tool

from .judge import check_gbnf

PIECES = (
    "\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\u2029", "\x00", "\x7f", "\u202e", "\u200b",
    '"', "\\", "'", "`", "#", "//", "/*", "::=", " ::= ", "root", "start", "|", "(", ")", "[", "]",
    "{", "}", "*", "+", "?", ".", "-", "<", ">", "%json", "@", "$", "\\n", "\\u000a",
    "root ::= .*", "start: /.*/", "# ", "TagDispatch(", "</tool_call>",
    "%llguidance {}", "a", "Z", "9", "_", "é", "語", "😀",
)  # fmt: skip
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|<\[[0-9]+\]>')
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def hostile_texts(count: int) -> Iterator[str]:
    rng = random.Random(1)
    yield 'f"\nroot ::= .*\n# '
    for _ in range(count - 1):
        yield "".join(rng.choices(PIECES, k=rng.randint(1, 6)))


def rule_lines(grammar: str) -> list[str]:
    """Return the lines that are rules: llguidance's options depend on whether all is ASCII."""
    return [line for line in grammar.split("\n") if line and line[0] not in "#%"]


def skeleton(grammar: str) -> list[str]:
    """Return the rules without their texts, each name by when it is first met."""
    numbers: dict[str, int] = {}
    return [
        NAME.sub(lambda found: f"n{numbers.setdefault(found[0], len(numbers))}", bare)
        for bare in (re.sub(r"(T )*T", "T", LITERAL.sub("T", line)) for line in rule_lines(grammar))
    ]


def grammars(analysis: Analysis, text: str, *, json_values: bool) -> dict[str, str]:
    properties: dict[str, Json] = {"p": {"type": "string", "description": text}}
    if json_values:
        # A value without quotes may be read as another type, or as markup.
        properties["q"] = {"enum": [text, f"{text}, or more"]}
    offered = tool(text, properties, "p", description=text)
    grammar = analysis.grammar([offered], tool_choice="required")
    tag = json.dumps(grammar.structural_tag())
    (written,) = re.findall(r'"grammar": ("(?:[^"\\]|\\.)*")', tag)
    return {
        "gbnf": grammar.gbnf(),
        "lark": grammar.lark(OpaqueTokens()),
        "tag": json.loads(written),
    }


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("j1-json-in-tags", 100),
        pytest.param("a1-function-parameter", 1000, marks=pytest.mark.slow),
        pytest.param("j1-json-in-tags", 1000, marks=pytest.mark.slow),
    ],
)
def test_hostile_names_give_the_rules_of_a_plain_name(name: str, count: int) -> None:
    analysis = analysis_of(name)
    json_values = name.startswith("j")
    plain = grammars(analysis, "f", json_values=json_values)
    check_gbnf("".join(f"{line}\n" for line in rule_lines(plain["gbnf"])))
    rules = {form: skeleton(grammar) for form, grammar in plain.items()}
    for text in hostile_texts(count):
        for form, grammar in grammars(analysis, text, json_values=json_values).items():
            assert "\r" not in grammar
            assert skeleton(grammar) == rules[form], (form, text)
