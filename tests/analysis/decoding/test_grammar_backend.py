"""The factory: one compilation a constraint, whatever asks for it at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError, ConstraintKind
from autoparser.analysis.decoding.grammar_backend import GrammarBackend

from .states import takes
from .tokenizers_here import small

WIDE = {
    "type": "object",
    "properties": {f"field_{number}": {"type": "string"} for number in range(200)},
}
BAD = Constraint.regex("(a")


@pytest.fixture
def backend() -> Iterator[GrammarBackend]:
    with GrammarBackend(small()) as made:
        yield made


def test_requests_at_once_compile_once(backend: GrammarBackend) -> None:
    constraint = Constraint.json_schema(WIDE)
    barrier = Barrier(8)

    def ask(number: int) -> bool:
        barrier.wait()
        grammar = backend.submit(constraint).result() if number % 2 else backend.grammar(constraint)
        return takes(grammar, backend.tokenizer.encode('{"field_3": "a"}'))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [True] * 8
    figures = backend.statistics
    assert (figures.misses, figures.hits) == (1, 7)
    assert figures.dispatched == {ConstraintKind.JSON_SCHEMA: 1}
    assert figures.failures == 0
    assert figures.compile_seconds > 0
    assert figures.masks == figures.accepted > 0
    assert figures.mask_seconds > 0


def test_objects_of_one_constraint_go_their_own_ways(backend: GrammarBackend) -> None:
    constraint = Constraint.regex("ab|cd")
    first, second = backend.grammar(constraint), backend.grammar(constraint)
    assert takes(first, backend.tokenizer.encode("ab"))
    assert takes(second, backend.tokenizer.encode("cd"))
    assert first.is_terminated()
    assert takes(backend.grammar(constraint), backend.tokenizer.encode("cd"))
    assert backend.statistics.misses == 1


def test_a_failure_is_kept_and_told_to_each(backend: GrammarBackend) -> None:
    with pytest.raises(ConstraintError) as first:
        backend.grammar(BAD)
    with pytest.raises(ConstraintError) as second:
        backend.submit(BAD).result()
    assert str(first.value) == str(second.value)
    assert first.value is not second.value
    figures = backend.statistics
    assert (figures.misses, figures.hits, figures.failures) == (1, 1, 1)


def test_the_constraints_used_last_are_kept() -> None:
    with GrammarBackend(small(), capacity=2) as backend:
        for pattern in ("a", "b", "a", "c", "a", "b"):
            backend.grammar(Constraint.regex(pattern))
        assert (backend.statistics.misses, backend.statistics.hits) == (4, 2)
        assert backend.statistics.dispatched == {ConstraintKind.REGEX: 4}


def test_all_kinds_are_counted_apart(backend: GrammarBackend) -> None:
    tag = {"format": {"type": "any_text"}}
    for constraint in (
        Constraint.json_schema({}),
        Constraint.regex("a"),
        Constraint.ebnf('root ::= "a"'),
        Constraint.structural_tag(tag),
        BAD,
    ):
        backend.submit(constraint).exception()
    assert backend.statistics.dispatched == {
        ConstraintKind.JSON_SCHEMA: 1,
        ConstraintKind.REGEX: 2,
        ConstraintKind.EBNF: 1,
        ConstraintKind.STRUCTURAL_TAG: 1,
    }


def test_forced_tokens_are_counted(backend: GrammarBackend) -> None:
    grammar = backend.grammar(Constraint.regex("abcdef"))
    forced = grammar.forced_tokens()
    assert backend.statistics.forced == len(forced) > 0


def test_a_fresh_backend_has_done_nothing(backend: GrammarBackend) -> None:
    assert (backend.statistics.hits, backend.statistics.misses) == (0, 0)
    assert backend.statistics.dispatched == {}
