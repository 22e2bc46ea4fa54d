"""Texts whose length is bounded: under its masks, llguidance takes them to their end."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import takewhile

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from tests.analysis.decoding.states import takes
from tests.analysis.decoding.tokenizers_here import qwen
from tests.analysis.parsing.loop import analysis_of

from .proofs import grammar_for, request_for

pytestmark = pytest.mark.slow

XML, HERMES = "a1-function-parameter", "j1-json-in-tags"
LETTERS = "a" * 19_999
MARKUP = random.Random(3).choices('abc<>/= \n"\\{}é日', k=36_000)
"""Beginnings of what closes a text, of escapes, and of characters of several bytes."""


@pytest.mark.parametrize(
    ("said", "text", "left_out"),
    [
        ({"maxLength": 10_000}, "".join(MARKUP[:9_999]), ((), ())),
        ({"maxLength": 20_000}, "".join(MARKUP[:19_999]), (("maxLength",), ())),
        ({"maxLength": 50_000}, "".join(MARKUP[:36_000]), (("maxLength",), ("maxLength",))),
        ({"maxLength": 1e22}, "".join(MARKUP[:21_000]), (("maxLength",), ("maxLength",))),
        ({"minLength": 1_000}, "".join(MARKUP[:2_000]), ((), ())),
        ({"minLength": 20_001}, "".join(MARKUP[:21_000]), (("minLength",), ("minLength",))),
        ({"pattern": "^[a-z]{0,20000}$"}, LETTERS, (("pattern",), ())),
        ({"pattern": "^(?:[a-z]{1,200} ?){0,200}$"}, LETTERS, (("pattern",), ("pattern",))),
        ({"pattern": "^[a-z]+$", "maxLength": 20_000}, LETTERS[:2_000], (("maxLength",), ())),
    ],
    ids=lambda each: "".join(each) if isinstance(each, dict) else None,
)
@pytest.mark.parametrize("style", [XML, HERMES])
def test_a_long_text_is_taken_to_its_end(
    style: str, said: dict[str, Json], text: str, left_out: tuple[tuple[str, ...], ...]
) -> None:
    parameters: Json = {
        "type": "object",
        "properties": {"text": {"type": "string", **said}},
        "required": ["text"],
    }
    tools: list[Json] = [
        {"type": "function", "function": {"name": "save", "parameters": parameters}}
    ]
    format_, tokenizer = analysis_of(style).format, qwen()
    whole = format_.write(Message(calls=(ToolCall("save", {"text": f"{text}e"}),)))
    request, written = request_for(format_, whole, tools)
    grammar = replace(grammar_for(format_, request), loosen=True)
    lark = Constraint.ebnf(grammar.lark(tokenizer))
    assert tuple(each.keyword for each in grammar.loosened("lark")) == left_out[style == HERMES]
    answer = takewhile(
        lambda token: token not in tokenizer.eos_ids, tokenizer.encode(whole[written:])
    )
    with GrammarBackend(tokenizer, slices=grammar.slices(tokenizer)) as backend:
        engine = backend.grammar(lark)
        assert takes(engine, [*answer])
        assert engine.is_accepting()
