"""Masked sampling at random: every answer keeps to its constraint, and most end."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import jsonschema
import pytest

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError, RefusedTokenError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import (
    RandomSampler,
    WaitingAnswer,
    masked_walk,
    masked_walks,
)
from autoparser.analysis.decoding.matcher_grammar import FreeGrammar
from autoparser.analysis.decoding.reasoning_gate import ReasoningOpening

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "tags": {"type": "array", "items": {"enum": ["<think>", "b", "c</tool_call>"]}},
        "count": {"type": "integer", "minimum": 0, "maximum": 40},
    },
    "required": ["name", "tags", "count"],
    "additionalProperties": False,
}
BEGIN, END = '<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"
CALLS = Constraint.structural_tag(
    {
        "structures": [{"begin": BEGIN, "schema": SCHEMA, "end": END}],
        "triggers": ["<tool_call>"],
    },
    whitespace="compact",
)
REAL = pytest.param("qwen_backend", marks=pytest.mark.slow)
"""It takes seconds to load."""
COMPACT = Constraint.json_schema(SCHEMA, whitespace="compact")


@pytest.mark.parametrize("name", ["bytes_backend", "plain_backend", "unigram_backend", REAL])
def test_walks_of_a_schema_are_valid(name: str, request: pytest.FixtureRequest) -> None:
    backend: GrammarBackend = request.getfixturevalue(name)
    grammars = [backend.grammar(COMPACT) for _ in range(20)]
    written = masked_walks(grammars, backend.tokenizer, RandomSampler(backend.tokenizer, 7), 400)
    ended = [one for one in written if one.ended]
    assert len(ended) == 20
    for one in ended:
        jsonschema.validate(json.loads(one.text), SCHEMA)
        assert one.forced > 0
        assert backend.tokenizer.decode(one.tokens) == one.text


@pytest.mark.parametrize("name", ["bytes_backend", "plain_backend", REAL])
def test_walks_of_calls_are_calls(name: str, request: pytest.FixtureRequest) -> None:
    backend: GrammarBackend = request.getfixturevalue(name)
    tokenizer = backend.tokenizer
    closers = ('"', "]", "}", "<tool_call>")
    sampler = RandomSampler(tokenizer, 3, ending=0.05, closers=closers)
    written = masked_walks([backend.grammar(CALLS) for _ in range(20)], tokenizer, sampler, 600)
    calls = [
        call
        for one in written
        if one.ended
        for call in re.findall(re.escape(BEGIN) + "(.*?)" + re.escape(END), one.text, re.DOTALL)
    ]
    assert len(calls) >= 5
    for call in calls:
        jsonschema.validate(json.loads(call), SCHEMA)


def test_one_seed_gives_one_answer(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    answers = [
        masked_walk(bytes_backend.grammar(COMPACT), tokenizer, RandomSampler(tokenizer, seed), 300)
        for seed in (1, 1, 2)
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_limit_cuts(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = bytes_backend.grammar(Constraint.regex("a{20}"))
    cut = masked_walk(grammar, tokenizer, RandomSampler(tokenizer, 0), 5)
    assert (cut.text, cut.ended, len(cut.tokens), cut.forced) == ("aaaaa", False, 5, 6)
    whole = masked_walk(
        bytes_backend.grammar(Constraint.regex("a{5}")), tokenizer, RandomSampler(tokenizer, 0), 5
    )
    assert (whole.text, whole.ended, whole.forced) == ("aaaaa", True, 6)
    assert masked_walks([], tokenizer, RandomSampler(tokenizer, 0), 5) == []


def test_a_walk_behind_the_gate(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    sampler = RandomSampler(tokenizer, 5, ending=0.0, closers=("</think>", '"', "]", "}"))
    grammar = bytes_backend.reasoning_grammar(
        COMPACT, end="</think>", opening=ReasoningOpening.OPEN
    )
    one = masked_walk(grammar, tokenizer, sampler, 60)
    assert "</think>{" in one.text


class Fixed:
    """Chooses tokens that were written down before."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._left = list(tokens)

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        assert len(mask) == 1
        return [self._left.pop(0) for _ in turns]


def test_a_sampler_may_be_anything_but_has_to_keep_to_the_mask(
    bytes_backend: GrammarBackend,
) -> None:
    tokenizer = bytes_backend.tokenizer
    tokens = [*tokenizer.encode("<think>any"), tokenizer.eos_id]
    one = masked_walk(FreeGrammar(tokenizer), tokenizer, Fixed(tokens), 100)
    assert (one.text, one.ended, one.forced) == ("<think>any", True, 0)
    with pytest.raises(RefusedTokenError):
        masked_walk(bytes_backend.grammar(COMPACT), tokenizer, Fixed(tokens), 100)


def test_a_grammar_that_allows_nothing_is_a_fault(bytes_backend: GrammarBackend) -> None:
    """The intersection is empty: nothing can come."""
    grammar = Constraint.ebnf("start: A\nA: /a+b/ & /a+c/")
    with pytest.raises(ConstraintError):
        masked_walk(
            bytes_backend.grammar(grammar),
            bytes_backend.tokenizer,
            RandomSampler(bytes_backend.tokenizer, 0),
            10,
        )
