"""Ranges of numbers, against comparison."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache

from hypothesis import assume, given, settings, strategies as st

from autoparser.analysis.grammar.gbnf_rules import GbnfRules
from autoparser.analysis.grammar.schema_numbers import Interval, integer_range, number_range
from tests.analysis.grammar.gbnf_reader import Grammar, read_gbnf

integers = st.one_of(st.integers(-30, 30), st.integers(-1200, 1200), st.integers(-(10**20), 10**20))
floats = st.one_of(
    st.floats(-20, 20).filter(lambda number: number == 0 or abs(number) >= 1e-322),
    st.integers(-3000, 3000).map(lambda hundredths: hundredths / 100),
    st.floats(min_value=-1e307, max_value=1e307).filter(lambda number: abs(number) >= 1e-322),
    st.sampled_from([0.0, -0.0, 1e16, 9999999999999998.0, 1e-4, 1e-5, 0.1 + 0.2]),
)


def accepts(grammar: str | None, text: str) -> bool:
    return grammar is not None and reader(grammar).accepts(text)


@lru_cache(maxsize=4)
def reader(grammar: str) -> Grammar:
    return read_gbnf(grammar)


def numbers(interval: Interval) -> str | None:
    rules = GbnfRules()
    expression = number_range(interval, rules)
    return None if expression is None else rules.text(expression)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    least=st.none() | integers, most=st.none() | integers, values=st.lists(integers, max_size=10)
)
def test_integers(least: int | None, most: int | None, values: list[int]) -> None:
    expression = integer_range(least, most)
    grammar = None if expression is None else f"root ::= {expression}\n"
    near = [bound + step for bound in (least, most) if bound is not None for step in (-1, 0, 1)]
    for value in [*values, *near, 0]:
        inside = (least is None or value >= least) and (most is None or value <= most)
        assert accepts(grammar, str(value)) == inside
    assert not any(accepts(grammar, text) for text in ("", "-", "-0", "00", "01", "-01", "+1"))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    low=st.none() | integers | floats,
    high=st.none() | integers | floats,
    opened=st.tuples(st.booleans(), st.booleans()),
    values=st.lists(integers | floats, max_size=10),
)
def test_numbers(
    low: float | None, high: float | None, opened: tuple[bool, bool], values: list[float]
) -> None:
    least, most = (None if bound is None else Decimal(repr(bound)) for bound in (low, high))
    interval = Interval(least, most, *opened)
    grammar = numbers(interval)
    near = [bound for bound in (low, high) if bound is not None]
    near += [bound * factor for bound in near for factor in (1.0001, 0.9999)]
    for value in [*values, *near, 0, -0.0]:
        text = json.dumps(value)
        assert accepts(grammar, text) == interval.holds(Decimal(text))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(value=floats)
def test_numbers_are_written_in_one_way(value: float) -> None:
    everything = numbers(Interval())
    text = json.dumps(value)
    assert accepts(everything, text)
    assume(value not in {0, -0.0})
    digits, _, exponent = text.partition("e")
    others = [f"0{text}", f"+{text}", text.upper() if exponent else f"{text}e0"]
    others.append(f"{digits}0e{exponent}" if exponent else f"{text}0")
    assert not [other for other in others if accepts(everything, other)]
