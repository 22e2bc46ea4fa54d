"""Which values a schema's grammar accepts, as two readers of GBNF see it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.analysis.grammar.cases import (
    BOUNDED,
    CASES,
    FORMATS,
    PATTERNS,
    Case,
)
from tests.analysis.grammar.judge import Judge

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken_and_what_is_written_is_valid(case: Case) -> None:
    judge = Judge.of(case.schema)
    assert [value for value in case.accepted if not judge.takes(value)] == []
    assert [value for value in case.refused if judge.takes(value)] == []
    rng = random.Random(case.name)
    for _ in range(12):
        text = judge.walk(rng)
        value = json.loads(text)
        assert holds(case.schema, value), text
        assert rewritten(text) in {text, None}


def holds(schema: Any, value: Any) -> bool:
    return bool(Draft202012Validator(modern(schema)).is_valid(value))


def rewritten(text: str) -> str | None:
    """Read and write; None where a name comes twice or a float has more digits than it holds."""
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


@pytest.mark.parametrize(("pattern", "matching", "others"), PATTERNS, ids=repr)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_patterns(pattern: str, matching: list[str], others: list[str], ascii_only: bool) -> None:
    judge = Judge.of({"type": "string", "pattern": pattern}, ascii_only=ascii_only)
    texts = {text: json.dumps(text, ensure_ascii=ascii_only) for text in [*matching, *others]}
    assert [text for text in matching if not judge.accepts(texts[text])] == []
    assert [text for text in others if judge.accepts(texts[text])] == []


@pytest.mark.parametrize(("name", "matching", "others"), FORMATS, ids=lambda case: str(case)[:20])
def test_formats(name: str, matching: list[str], others: list[str]) -> None:
    judge = Judge.of({"type": "string", "format": name})
    assert [text for text in matching if not judge.takes(text)] == []
    assert [text for text in others if judge.takes(text)] == []


@pytest.mark.parametrize(("schema", "matching", "others"), BOUNDED, ids=lambda case: str(case)[:60])
def test_patterns_beside_lengths(
    schema: dict[str, Any], matching: list[str], others: list[str]
) -> None:
    judge = Judge.of({"type": "string", **schema})
    assert [text for text in matching if not judge.takes(text)] == []
    assert [text for text in others if judge.takes(text)] == []
