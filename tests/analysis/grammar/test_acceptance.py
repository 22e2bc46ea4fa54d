"""Check the place of a refusal and the texts allowed there, and that names cannot inject rules."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from autoparser import Analysis, Json, OpaqueTokens
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.offers import STRICT, tool

from .judge import byte_tokenizer, check_gbnf

CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
TOKENS = byte_tokenizer(MARKERS)


def _called(arguments: str) -> str:
    return CALL.replace("list_rooms", "get_weather").replace("{}", arguments)


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize(
    ("text", "refused", "argument", "allowed"),
    [
        (CALL.replace("list_", "lsit_"), "s", "", ('ist_rooms", "arguments": {}}\n</tool_call>',)),
        (CALL[:-3], None, "", ("ll>",)),
        (f"{CALL}x", "x", "", ('\n<tool_call>\n{"name": "',)),
        ("Well é <think>", ">", "", ()),
        (_called('{"city": "Oslo", "days": "2"}'), '"', "days", tuple("123456789")),
        (_called('{"city": 5, "days": 2}'), "5", "city", ('"',)),
        # Between two arguments, no argument is named.
        (_called('{"city": "Oslo"; "days": 2}'), ";", "", (', "',)),
        (_called('{"days": 2}'), "d", "", ('city": "',)),
    ],
)
def test_refused_text_reports_place_argument_and_allowed_texts(
    dialect: GrammarDialect, text: str, refused: str | None, argument: str, allowed: tuple[str, ...]
) -> None:
    # Nothing follows a required call.
    choice = "required" if text.endswith("x") else "auto"
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT, tool_choice=choice)
    found = grammar.accepts(text, dialect=dialect)
    assert not found.accepted
    assert (found.refused, found.argument, found.allowed) == (refused, argument, allowed)
    # An answer may end after its calls, and within free text.
    assert found.may_end is (text.endswith("x") or not allowed)
    assert found.tokens == len(text.encode())
    assert len(text[: found.place].encode()) == found.taken
    assert text[found.place :].startswith(refused or "")


def test_acceptance_follows_the_tokenizers_tokens() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    found = grammar.accepts(CALL.replace("{}", '{"a": 1}'), TOKENS)
    assert (found.refused, found.part, found.call) == ('"', SpanKind.ARGUMENTS, "list_rooms")
    assert found.allowed == ("}}\n</tool_call>",)
    assert grammar.accepts(f"{CALL}<|im_end|>", TOKENS).accepted
    # Only the marker's token opens a call: in other tokens it is text.
    assert not grammar.accepts(CALL[:-1], TOKENS).accepted


def test_acceptance_is_true_if_the_text_is_accepted() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    for dialect in ("lark", "gbnf"):
        assert grammar.accepts(CALL, dialect=dialect)
        assert not grammar.accepts(CALL.replace("{}", '{"a": 1}'), dialect=dialect)


def test_unknown_dialect_error_lists_the_known_ones() -> None:
    wrong: Any = "gbfn"
    with pytest.raises(RequestError, match=r"dialect: .*did you mean gbnf.*lark, gbnf"):
        analysis_of("j1-json-in-tags").grammar(STRICT).accepts(CALL, dialect=wrong)


def test_second_text_reuses_the_vocabulary() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    assert grammar.accepts(CALL, TOKENS)
    known = tokenizer_of(tokenizer_of(TOKENS), eos=[*grammar.stop_strings])
    assert {"vocab_size", "ll"} <= vars(known).keys()


def test_refused_argument_between_tags_is_named() -> None:
    grammar = analysis_of("a1-function-parameter").grammar(STRICT)
    text = (
        "Hm.\n</think>\n\n<tool_call>\n<function=book_room>\n<parameter=room>\nR1\n</parameter>\n"
        "<parameter=price>\ntwo\n</parameter>\n</function>\n</tool_call>"
    )
    found = grammar.accepts(text)
    assert (found.refused, found.argument, found.call) == ("t", "price", "book_room")


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
