"""Check the JSON values that a schema's grammar accepts, and the refused schemas.

The tables are `schema_values.yaml`, `schema_refusals.yaml`. llguidance reads the GBNF and
the schema that Lark embeds; jsonschema judges what is written at random.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from llguidance import LLMatcher

from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.grammar.schema_guidance import ensure_loaded, guidance_schema
from tests.case_tables import load_cases
from tests.lanes import sampled

from .judge import Judge, gbnf, tokenizer

VALUES: list[dict[str, Any]] = load_cases(__file__, "schema_values.yaml")
VALUES += [
    {
        "name": "long lengths",
        "schema": {"type": "string", "minLength": 1500, "maxLength": 3100},
        "accepted": ["a" * 1500, "é" * 2999, "a" * 3100],
        "refused": ["a" * 1499, "a" * 3101, ""],
    },
    {
        "name": "a long bound",
        "schema": {"type": "string", "maxLength": 2000},
        "accepted": ["", "x" * 999, "x" * 2000],
        "refused": ["x" * 2001],
    },
]
WALKED = [entry for entry in VALUES if not {"pattern", "format"} & set(entry["name"].split())]
"""A pattern means the same to Python's jsonschema only in some cases."""
REFUSALS: list[dict[str, Any]] = load_cases(__file__, "schema_refusals.yaml")


@pytest.mark.parametrize("case", sampled(VALUES, 9), ids=lambda case: case["name"])
def test_grammar_accepts_exactly_valid_values(case: dict[str, Any]) -> None:
    for ascii_only in (False, True):
        judge = Judge.of(case["schema"], ascii_only=ascii_only)
        taken = [value for value in case["accepted"] if judge.takes(value, ascii_only=ascii_only)]
        assert taken == case["accepted"]
        refused = case["refused"]
        assert [value for value in refused if judge.takes(value, ascii_only=ascii_only)] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", WALKED, ids=lambda case: case["name"])
def test_random_walks_of_a_schema_grammar_are_valid(case: dict[str, Any]) -> None:
    validator = Draft202012Validator(modern(case["schema"]))
    rng = random.Random(case["name"])
    judge = Judge.of(case["schema"])
    for text in [judge.walk(rng) for _ in range(12)]:
        assert validator.is_valid(json.loads(text)), text
        assert rewritten(text) in {text, None}


@pytest.mark.parametrize("case", sampled(VALUES, 9), ids=lambda case: case["name"])
def test_schema_embedded_in_lark_accepts_the_same_values(case: dict[str, Any]) -> None:
    try:
        made = guidance_schema(case["schema"])
        ensure_loaded([made])
    except SchemaError:
        assert "format" not in case["name"], "a format of the table is one that llguidance takes"
        return
    matcher = LLMatcher(tokenizer(), LLMatcher.grammar_from_json_schema(made.text), log_level=0)

    def takes(value: Any) -> bool:
        tokens = [*json.dumps(value, ensure_ascii=False).encode()]
        found = matcher.deep_copy()
        return found.try_consume_tokens(tokens) == len(tokens) and found.is_accepting()

    # Where bounds are near, llguidance writes no exponents, and it escapes a DEL.
    usual = [text for text in case["accepted"] if not re.search(r"\de-|\\x7f", repr(text))]
    assert [value for value in usual if not takes(value)] == []
    assert [value for value in case["refused"] if takes(value)] == []


def rewritten(text: str) -> str | None:
    """Read and write JSON; None for doubled names or floats that lose digits."""
    loss: list[object] = []

    def number(digits: str) -> float:
        loss.extend([digits] if len(digits) > 15 else [])
        return float(digits)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        loss.extend(pairs[len(dict(pairs)) :])
        return dict(pairs)

    value = json.loads(text, parse_float=number, object_pairs_hook=members)
    return None if loss else json.dumps(value, ensure_ascii=False)


def modern(schema: Any) -> Any:
    """Write the older list of items in the way of draft 2020-12."""
    if isinstance(schema, dict) and isinstance(schema.get("items"), list):
        rest = {key: value for key, value in schema.items() if key != "additionalItems"}
        items = schema.get("additionalItems", True)
        return rest | {"prefixItems": schema["items"], "items": items}
    return schema


PLACES: list[tuple[str, Callable[[Any], dict[str, Any]]]] = [
    ("#", lambda schema: schema),
    ("#/properties/a~1b", lambda schema: {"properties": {"a/b": schema}}),
    ("#/items", lambda schema: {"type": "array", "items": schema}),
    ("#/anyOf/1", lambda schema: {"anyOf": [{"type": "null"}, schema]}),
    ("#/allOf/0/additionalProperties", lambda inner: {"allOf": [{"additionalProperties": inner}]}),
]


@pytest.mark.parametrize("case", sampled(REFUSALS, 5), ids=lambda case: str(case)[:70])
def test_schema_without_a_grammar_is_refused_with_keyword_and_place(case: dict[str, Any]) -> None:
    schema = case["schema"]
    if "keyword" not in case:
        with pytest.raises(SchemaError) as caught:
            gbnf(schema)
        assert case["words"] in str(caught.value)
        return
    for place, inside in PLACES:
        document = inside({key: value for key, value in schema.items() if key != "$defs"})
        with pytest.raises(SchemaError) as caught:
            gbnf(document | {"$defs": schema.get("$defs", {})})
        error = caught.value
        assert (error.keyword, error.pointer) == (case["keyword"], f"{place}/{case['keyword']}")
        assert str(error).startswith(f"{error.pointer}: ")
        assert error.keyword in error.message


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1, 2}], ids=repr)
def test_non_json_schema_value_is_refused(value: Any) -> None:
    with pytest.raises(SchemaError, match="not a JSON value"):
        gbnf({"const": value})


@pytest.mark.slow
def test_hundred_level_schema_is_refused() -> None:
    schema: Any = {"type": "string"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="levels deep"):
        gbnf(schema)
