"""Grammar objects: one compilation a constraint; states left and entered again; masks; limits."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from autoparser.analysis.decoding.constraints import (
    Constraint,
    ConstraintError,
    ConstraintKind,
    RefusedTokenError,
)
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import (
    RandomSampler,
    WaitingAnswer,
    masked_walk,
    masked_walks,
)
from autoparser.analysis.decoding.matcher_grammar import (
    FreeGrammar,
    GrammarObject,
    MaskError,
    allowed_tokens,
    mask_row,
    new_mask,
)

from .tokenizers_here import allowed, small, takes


@pytest.fixture
def backend() -> Iterator[GrammarBackend]:
    with GrammarBackend(small()) as made:
        yield made


def test_concurrent_requests_compile_once(backend: GrammarBackend) -> None:
    fields = {f"field_{number}": {"type": "string"} for number in range(200)}
    constraint = Constraint.json_schema({"type": "object", "properties": fields})
    barrier = Barrier(8)

    def ask(number: int) -> bool:
        barrier.wait()
        grammar = backend.submit(constraint).result() if number % 2 else backend.grammar(constraint)
        return takes(grammar, backend.tokenizer.encode('{"field_3": "a"}'))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [True] * 8
    figures = backend.statistics
    assert (figures.misses, figures.hits, figures.failures) == (1, 7, 0)
    assert figures.dispatched == {ConstraintKind.JSON_SCHEMA: 1}
    assert figures.compile_seconds > 0
    assert figures.masks == figures.accepted > 0
    assert figures.mask_seconds > 0


def test_compile_failure_is_cached_and_raised_as_a_new_error(backend: GrammarBackend) -> None:
    bad = Constraint.regex("(a")
    with pytest.raises(ConstraintError) as first:
        backend.grammar(bad)
    with pytest.raises(ConstraintError) as second:
        backend.submit(bad).result()
    assert str(first.value) == str(second.value)
    assert first.value is not second.value
    figures = backend.statistics
    assert (figures.misses, figures.hits, figures.failures) == (1, 1, 1)


def test_grammar_cache_is_lru_and_counts_kinds() -> None:
    with GrammarBackend(small(), capacity=2) as backend:
        for pattern in ("a", "b", "a", "c", "a", "b"):
            backend.grammar(Constraint.regex(pattern))
        assert (backend.statistics.misses, backend.statistics.hits) == (4, 2)
        assert backend.statistics.dispatched == {ConstraintKind.REGEX: 4}
        backend.grammar(Constraint.ebnf('root ::= "abcdef"'))
        tag = {"format": {"type": "any_text"}}
        backend.grammar(Constraint.structural_tag(tag))
        assert [*backend.statistics.dispatched.values()] == [4, 1, 1]
        grammar = backend.grammar(Constraint.regex("abcdef"))
        forced = grammar.forced_tokens()
        assert backend.statistics.forced == len(forced) > 0
        assert takes(grammar, forced)


CALL = {
    "type": "tag",
    "begin": "<tool_call>",
    "content": {"type": "json_schema", "json_schema": {"type": "object"}},
    "end": "</tool_call>",
}
TRIGGERED = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [CALL]}
CONSTRAINTS = [
    Constraint.json_schema({"type": "object", "properties": {"a": {"enum": ["<think>", "b"]}}}),
    Constraint.regex("(ab|cd)*x"),
    Constraint.ebnf('root ::= "<think>" [a-z]* "</think>" root2\nroot2 ::= "(" root2 ")" | "1"'),
    Constraint.structural_tag({"format": {**TRIGGERED, "stop_after_first": True}}),
    Constraint.structural_tag(
        {"format": {"type": "tag", "begin": "<f", "content": {"type": "any_text"}, "end": "/f>"}}
    ),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.kind.value)
@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_rollback_restores_the_state(
    constraint: Constraint,
    data: st.DataObject,
    bytes_backend: GrammarBackend,
    plain_backend: GrammarBackend,
) -> None:
    backend = data.draw(st.sampled_from([bytes_backend, plain_backend]))
    go_forth_and_back(backend.grammar(constraint), data)


def state_of(grammar: GrammarObject) -> tuple[list[int], bool, bool]:
    return allowed(grammar), grammar.is_accepting(), grammar.is_terminated()


def go_forth_and_back(grammar: GrammarObject, data: st.DataObject) -> None:
    tokenizer = grammar.tokenizer
    sampler = RandomSampler(
        tokenizer, data.draw(st.integers(0, 1000)), closers=("<tool_call>", "/f>", '"', "x")
    )
    answer = masked_walk(grammar.clone(), tokenizer, sampler, 12)
    tokens = [*answer.tokens, tokenizer.eos_id] if answer.ended else list(answer.tokens)
    seen = [state_of(grammar)]
    for token in tokens:
        grammar.accept_token(token)
        seen.append(state_of(grammar))
    for _ in range(3):
        back = data.draw(st.integers(0, len(tokens)))
        copy = grammar.clone()
        grammar.rollback(back)
        here = len(tokens) - back
        assert state_of(grammar) == seen[here]
        for token in tokens[here:]:
            grammar.accept_token(token)
        assert state_of(copy) == seen[-1]
        copy.reset()
        assert allowed(copy) == seen[0][0]
    grammar.reset()
    assert state_of(grammar) == seen[0]


def test_refused_token_changes_no_state(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = bytes_backend.grammar(Constraint.regex("ab+"))
    before = allowed(grammar)
    (wrong,) = tokenizer.encode("z")
    for token in (wrong, tokenizer.eos_id, tokenizer.vocab_size, -1):
        assert not grammar.try_accept(token)
        with pytest.raises(RefusedTokenError, match="after 0 tokens"):
            grammar.accept_token(token)
    assert allowed(grammar) == before
    assert takes(grammar, [*tokenizer.encode("abb"), tokenizer.eos_id])
    assert not grammar.try_accept(tokenizer.eos_id)
    assert allowed(grammar) == [tokenizer.eos_id]
    for count in (-1, 5):
        with pytest.raises(ConstraintError, match="cannot roll back"):
            grammar.rollback(count)


def test_free_grammar_allows_every_token(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = FreeGrammar(tokenizer)
    assert allowed(grammar) == list(range(tokenizer.vocab_size))
    assert takes(grammar, [*tokenizer.encode("<think>x"), tokenizer.eos_id])
    assert grammar.is_terminated()
    assert allowed(grammar.clone()) == [tokenizer.eos_id]
    with pytest.raises(RefusedTokenError):
        grammar.accept_token(0)
    grammar.rollback(1)
    assert (grammar.is_terminated(), grammar.is_accepting()) == (False, True)
    grammar.reset()
    assert grammar.forced_tokens() == []


def test_numpy_and_plain_memory_masks_are_equal(bytes_backend: GrammarBackend) -> None:
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
    assert list(allowed_tokens(mask_row(plain, 2))) == allowed(grammar)


@pytest.mark.parametrize(
    ("mask", "index", "words"),
    [
        (np.zeros((1, 1), dtype=np.int32), 0, "a row of 1 words is too short"),
        (np.zeros((1, 99), dtype=np.int64), 0, "of int32"),
        (np.zeros(99, dtype=np.int32), 0, "two-dimensional"),
        (np.zeros((99, 4), dtype=np.int32).T, 0, "contiguous"),
        (np.zeros((2, 99), dtype=np.int32), 2, "row 2 is out of range for a mask of 2 rows"),
        (np.zeros((2, 99), dtype=np.int32), -1, "row -1 is out of range"),
        (memoryview(bytes(400)).cast("i", (1, 100)), 0, "writable"),
        (array("i", [0] * 99), 0, "two-dimensional"),
        ([[0]], 0, "a list cannot be used as a mask"),
    ],
)
def test_unsuitable_mask_memory_is_refused(
    mask: Any, index: int, words: str, bytes_backend: GrammarBackend
) -> None:
    grammar = bytes_backend.grammar(CONSTRAINTS[1])
    with pytest.raises(MaskError, match=words):
        grammar.fill_vocab_mask(mask, index)


def test_token_limit_cuts_longer_walks_only(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    for count, ended in ((20, False), (5, True)):
        grammar = bytes_backend.grammar(Constraint.regex(f"a{{{count}}}"))
        walk = masked_walk(grammar, tokenizer, RandomSampler(tokenizer, 0), 5)
        assert (walk.text, walk.ended, len(walk.tokens), walk.forced) == ("aaaaa", ended, 5, 6)
    assert masked_walks([], tokenizer, RandomSampler(tokenizer, 0), 5) == []


class Fixed:
    """Chooses tokens that were written down before."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._left = list(tokens)

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        assert len(mask) == 1
        return [self._left.pop(0) for _ in turns]


def test_sampler_that_ignores_the_mask_is_an_error(bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    tokens = [*tokenizer.encode("<think>any"), tokenizer.eos_id]
    one = masked_walk(FreeGrammar(tokenizer), tokenizer, Fixed(tokens), 100)
    assert (one.text, one.ended, one.forced) == ("<think>any", True, 0)
    with pytest.raises(RefusedTokenError):
        masked_walk(bytes_backend.grammar(CONSTRAINTS[0]), tokenizer, Fixed(tokens), 100)
    nothing = Constraint.ebnf("start: A\nA: /a+b/ & /a+c/")
    with pytest.raises(ConstraintError):
        masked_walk(bytes_backend.grammar(nothing), tokenizer, Fixed(tokens), 10)
