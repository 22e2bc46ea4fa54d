"""The state of a grammar object: back, again, copied; masks in anybody's memory."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError, RefusedTokenError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import RandomSampler, masked_walk
from autoparser.analysis.decoding.matcher_grammar import (
    FreeGrammar,
    GrammarObject,
    MaskError,
    allowed_tokens,
    new_mask,
    row_of,
)

from .states import allowed, takes

CALL = {
    "type": "tag",
    "begin": "<tool_call>",
    "content": {"type": "json_schema", "json_schema": {"type": "object"}},
    "end": "</tool_call>",
}
CONSTRAINTS = [
    Constraint.json_schema({"type": "object", "properties": {"a": {"enum": ["<think>", "b"]}}}),
    Constraint.regex("(ab|cd)*x"),
    Constraint.ebnf('root ::= "<think>" [a-z]* "</think>" root2\nroot2 ::= "(" root2 ")" | "1"'),
    Constraint.structural_tag(
        {
            "format": {
                "type": "triggered_tags",
                "triggers": ["<tool_call>"],
                "tags": [CALL],
                "stop_after_first": True,
            }
        }
    ),
    Constraint.structural_tag(
        {"format": {"type": "tag", "begin": "<f", "content": {"type": "any_text"}, "end": "/f>"}}
    ),
]
DSML = Constraint.structural_tag(
    {
        "format": {
            "type": "triggered_tags",
            "triggers": ["<｜DSML｜"],
            "tags": [{**CALL, "begin": "<｜DSML｜call>", "end": "</｜DSML｜call>"}],
        }
    }
)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.kind.value)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_state_that_was_left_is_the_same_again(
    constraint: Constraint,
    data: st.DataObject,
    bytes_backend: GrammarBackend,
    plain_backend: GrammarBackend,
) -> None:
    backend = data.draw(st.sampled_from([bytes_backend, plain_backend]))
    _forth_and_back(backend.grammar(constraint), data)


@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_a_state_with_real_tokens(data: st.DataObject, deepseek_backend: GrammarBackend) -> None:
    _forth_and_back(deepseek_backend.grammar(DSML), data)


def _forth_and_back(grammar: GrammarObject, data: st.DataObject) -> None:
    tokenizer = grammar.tokenizer
    sampler = RandomSampler(
        tokenizer, data.draw(st.integers(0, 1000)), closers=("<tool_call>", "/f>", '"', "x")
    )
    answer = masked_walk(grammar.clone(), tokenizer, sampler, 12)
    tokens = [*answer.tokens, tokenizer.eos_id] if answer.ended else list(answer.tokens)
    seen = [(allowed(grammar), grammar.is_accepting(), grammar.is_terminated())]
    for token in tokens:
        grammar.accept_token(token)
        seen.append((allowed(grammar), grammar.is_accepting(), grammar.is_terminated()))
    for _ in range(3):
        back = data.draw(st.integers(0, len(tokens)))
        copy = grammar.clone()
        grammar.rollback(back)
        here = len(tokens) - back
        assert (allowed(grammar), grammar.is_accepting()) == seen[here][:2]
        assert grammar.is_terminated() == seen[here][2]
        for token in tokens[here:]:
            grammar.accept_token(token)
        assert (allowed(copy), copy.is_terminated()) == (seen[-1][0], seen[-1][2])
        copy.reset()
        assert allowed(copy) == seen[0][0]
    grammar.reset()
    assert (allowed(grammar), grammar.is_accepting(), grammar.is_terminated()) == seen[0]


def test_a_refused_token_changes_nothing(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = bytes_backend.grammar(Constraint.regex("ab+"))
    before = allowed(grammar)
    (wrong,) = tokenizer.encode("z")
    for token in (wrong, tokenizer.eos_id, tokenizer.vocab_size, -1):
        assert not grammar.try_accept(token)
        with pytest.raises(RefusedTokenError) as caught:
            grammar.accept_token(token)
        assert "after 0 tokens" in str(caught.value)
    assert allowed(grammar) == before
    assert takes(grammar, [*tokenizer.encode("abb"), tokenizer.eos_id])
    assert not grammar.try_accept(tokenizer.eos_id)
    assert allowed(grammar) == [tokenizer.eos_id]
    for count in (-1, 5):
        with pytest.raises(ConstraintError, match="cannot take back"):
            grammar.rollback(count)


def test_what_is_forced_is_given_ahead(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    grammar = qwen_backend.grammar(Constraint.json_schema({"enum": ["one way", "other"]}))
    assert takes(grammar, tokenizer.encode('"one'))
    forced = grammar.forced_tokens()
    assert tokenizer.decode(forced) == ' way"'[: len(tokenizer.decode(forced))]
    assert forced
    assert takes(grammar, forced)


def test_a_grammar_without_a_constraint(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = FreeGrammar(tokenizer)
    assert allowed(grammar) == list(range(tokenizer.vocab_size))
    assert takes(grammar, [*tokenizer.encode("<think>x"), tokenizer.eos_id])
    assert grammar.is_terminated()
    assert allowed(grammar.clone()) == [tokenizer.eos_id]
    with pytest.raises(RefusedTokenError):
        grammar.accept_token(0)
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert grammar.is_accepting()
    grammar.reset()
    assert grammar.forced_tokens() == []


def test_masks_in_numpy_and_in_plain_memory_are_alike(bytes_backend: GrammarBackend) -> None:
    words = bytes_backend.tokenizer.mask_words
    grammar = bytes_backend.grammar(CONSTRAINTS[0])
    numbers = np.full((3, words + 2), -1, dtype=np.int32)
    plain = new_mask(3, words)
    grammar.fill_vocab_mask(numbers, 1)
    grammar.fill_vocab_mask(plain, 2)
    assert numbers[1, :words].tobytes() == bytes(plain)[2 * words * 4 :]
    assert numbers[1, words:].tolist() == [0, 0]
    assert (numbers[[0, 2]] == -1).all()
    assert not any(bytes(plain)[: 2 * words * 4])
    assert list(allowed_tokens(row_of(plain, 2))) == allowed(grammar)


@pytest.mark.parametrize(
    ("mask", "index", "says"),
    [
        (np.zeros((1, 1), dtype=np.int32), 0, "a row of 1 words is too short"),
        (np.zeros((1, 99), dtype=np.int64), 0, "of int32"),
        (np.zeros(99, dtype=np.int32), 0, "two-dimensional"),
        (np.zeros((99, 4), dtype=np.int32).T, 0, "contiguous"),
        (np.zeros((2, 99), dtype=np.int32), 2, "there is no row 2 in a mask of 2"),
        (np.zeros((2, 99), dtype=np.int32), -1, "there is no row -1"),
        (memoryview(bytes(400)).cast("i", (1, 100)), 0, "can be written"),
        (array("i", [0] * 99), 0, "two-dimensional"),
        ([[0]], 0, "a list is not memory for a mask"),
    ],
)
def test_memory_that_does_not_fit(
    mask: Any, index: int, says: str, bytes_backend: GrammarBackend
) -> None:
    grammar = bytes_backend.grammar(CONSTRAINTS[1])
    with pytest.raises(MaskError, match=says):
        grammar.fill_vocab_mask(mask, index)
