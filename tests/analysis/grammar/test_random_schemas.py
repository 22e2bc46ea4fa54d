"""Schemas and values at random: a grammar accepts just what jsonschema calls valid."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings, strategies as st
from jsonschema import Draft202012Validator

from autoparser.analysis.core.schema_keywords import SchemaError
from tests.analysis.grammar.judge import Judge

NAMES = ("a", "ab", "b")
TEXTS = ("", "a", "ab", "b", "abc", 'é"\n')
# No whole floats: as an integer, 1.0 is valid and is never written.
NUMBERS = (0, 1, -1, 2, 5, 10, 0.5, -2.5, 1e-7, 10**17)

scalars = st.one_of(
    st.sampled_from([None, True, False]), st.sampled_from(NUMBERS), st.sampled_from(TEXTS)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*NAMES, "", "abc"]), inner, max_size=3),
    ),
    max_leaves=6,
)
bounds = st.sampled_from([-2.5, -1, 0, 0.5, 1, 2, 5, 3e20])
counts = st.integers(0, 3)
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


def some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with any of these members."""
    return st.fixed_dictionaries({}, optional=keywords)


def with_type(kind: str, keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return keywords.map(lambda members: {"type": kind, **members})


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    array = some(
        items=inner, prefixItems=st.lists(inner, max_size=2), minItems=counts, maxItems=counts
    )
    members = some(
        properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        required=st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
        additionalProperties=inner,
        minProperties=st.integers(0, 1),
        maxProperties=counts,
    )
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        with_type("array", array),
        with_type("object", members),
        members,
        st.builds(lambda base, more: {**base, "anyOf": more}, members, branches),
        st.builds(lambda base, more: {**base, "allOf": more}, members, branches),
        st.builds(lambda more: {"oneOf": more}, branches),
        st.builds(
            lambda base, more: {**base, "$ref": "#/$defs/leaf", "anyOf": more}, array, branches
        ),
        st.just({"$ref": "#/$defs/tree"}),
    )


leaves = st.one_of(
    st.booleans(),
    st.sampled_from(TYPES).map(lambda kind: {"type": kind}),
    st.lists(st.sampled_from(TYPES), unique=True, min_size=1, max_size=3).map(
        lambda kinds: {"type": kinds}
    ),
    with_type("string", some(minLength=counts, maxLength=counts)),
    with_type(
        "string",
        some(pattern=st.sampled_from(["a", "^a", "b$", "^(a|b)*$", "^a?b{1,2}", "[^a]"])),
    ),
    *(
        with_type(
            kind,
            some(minimum=bounds, maximum=bounds, exclusiveMinimum=bounds, exclusiveMaximum=bounds),
        )
        for kind in ("integer", "number")
    ),
    st.lists(values, min_size=1, max_size=3).map(lambda items: {"enum": items}),
    values.map(lambda value: {"const": value}),
)
schemas = st.recursive(leaves, larger, max_leaves=6)
DEFS = {
    "leaf": {"type": ["array", "string"], "maxItems": 2},
    "tree": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}},
        "additionalProperties": False,
    },
}


def orders(value: Any) -> Iterator[Any]:
    """Return the value with its members in every order."""
    if isinstance(value, list):
        yield from map(list, product(*map(orders, value)))
    elif isinstance(value, dict):
        for names in permutations(value):
            for inner in product(*(orders(value[name]) for name in names)):
                yield dict(zip(names, inner, strict=True))
    else:
        yield value


@pytest.mark.slow
@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)
@given(schema=schemas, candidates=st.lists(values, min_size=6, max_size=12), seed=st.integers())
def test_accepted_is_valid_and_valid_is_accepted(
    schema: Any, candidates: list[Any], seed: int
) -> None:
    schema = (
        {"allOf": [schema], "$defs": DEFS} if isinstance(schema, bool) else schema | {"$defs": DEFS}
    )
    validator = Draft202012Validator(schema)
    try:
        judge = Judge.of(schema)
    except SchemaError as error:
        if "no value meets" in error.message:
            assert not [value for value in candidates if validator.is_valid(value)]
        reject()
    for value in candidates:
        accepted = [
            judge.accepts(json.dumps(one, ensure_ascii=False)) for one in islice(orders(value), 100)
        ]
        assert any(accepted) == validator.is_valid(value), value
    rng = random.Random(seed)
    for _ in range(3):
        text = judge.walk(rng)
        assert validator.is_valid(json.loads(text)), text
