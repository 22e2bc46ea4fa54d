"""Count llguidance calls for schemas: none for plain ones, one for each other."""

from __future__ import annotations

import json

import pytest
from llguidance import LLMatcher

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError
from autoparser.analysis.grammar import schema_guidance as loadable
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.schema_guidance import (
    GuidanceSchema,
    ensure_loaded,
    guidance_schema,
)
from tests.fixture_analyses import analyzed

from .judge import tokenizer


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the schemas that are asked about; nothing is known from before."""
    asked: list[str] = []
    ask = loadable.guidance_refusal

    def recorded(schema: str) -> str:
        asked.append(schema)
        return ask(schema)

    monkeypatch.setattr(loadable, "guidance_refusal", recorded)
    monkeypatch.setattr(loadable, "KNOWN", loadable.KNOWN.__class__())
    return asked


PLAIN: tuple[Json, ...] = (
    {"type": "object", "properties": {"a": {"enum": ["x", 1]}, "b": {"type": "string"}}},
    {"type": "array", "items": {"type": ["integer", "null"], "minimum": 1}, "minItems": 1},
    {"anyOf": [{"type": "string", "maxLength": 3}, {"const": None}], "default": None},
)


@pytest.mark.parametrize("schema", PLAIN)
def test_plain_schemas_need_no_question(schema: Json, questions: list[str]) -> None:
    ensure_loaded([guidance_schema(schema)])
    assert questions == []


def holding(pattern: str, length: int, *required: str) -> GuidanceSchema:
    text: Json = {"type": "string", "pattern": pattern, "minLength": length}
    return guidance_schema({"type": "object", "properties": {"a": text}, "required": [*required]})


def test_each_schema_is_checked_once(questions: list[str]) -> None:
    schemas = [holding("^a+$", length, "a") for length in range(1, 21)]
    ensure_loaded([*schemas, *schemas])
    ensure_loaded(schemas)
    assert len(questions) == len(set(questions)) == 20


def test_unsatisfiable_schema_is_found_among_many(questions: list[str]) -> None:
    schemas = [holding("^a+$", length, "a") for length in range(30, 45)]
    with pytest.raises(SchemaError, match="no value satisfies"):
        ensure_loaded([*schemas, holding("^a$", 2, "a")])
    # The sixteen texts, and then the whole schema of the one that is refused.
    assert len(questions) == 17


def test_unsatisfiable_optional_part_is_accepted(questions: list[str]) -> None:
    ensure_loaded([holding("^a$", 2)])
    assert len(questions) == 2


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [False]},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "integer", "minimum": 0.2, "maximum": 0.8},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "string", "enum": [1]},
    ],
)
def test_contradictory_schema_is_refused(schema: Json) -> None:
    with pytest.raises(SchemaError, match="no value satisfies"):
        ensure_loaded([guidance_schema(schema)])


@pytest.mark.parametrize("bounds", [{}, {"minimum": 0}, {"exclusiveMinimum": 0, "maximum": 1}])
def test_exponents_are_allowed_as_the_docs_say(bounds: dict[str, Json]) -> None:
    schema: Json = {"type": "object", "properties": {"x": {"type": "number", **bounds}}}
    function: Json = {"type": "function", "function": {"name": "f", "parameters": schema}}
    grammar = analyzed("j1-json-in-tags").grammar([function], tool_choice="required")

    def allowed(dialect: GrammarDialect) -> set[str]:
        calls = {
            number: f'<tool_call>\n{{"name": "f", "arguments": {{"x": {number}}}}}\n</tool_call>'
            for number in ("0.0000001", "1e-07", "1e-7", "1e-1")
        }
        return {number for number, call in calls.items() if grammar.accepts(call, dialect=dialect)}

    assert allowed(GrammarDialect.GBNF) == {"0.0000001", json.dumps(1e-7)}
    assert allowed(GrammarDialect.LARK) == (
        {"0.0000001"} if bounds else {"0.0000001", "1e-07", "1e-7", "1e-1"}
    )


NEAR: list[tuple[dict[str, Json], str]] = [
    ({"exclusiveMinimum": 0, "maximum": 0.5}, "0"),
    ({"exclusiveMinimum": 2, "exclusiveMaximum": 2.5}, "2"),
    ({"minimum": -0.5, "exclusiveMaximum": 0}, "-0"),
]


@pytest.mark.parametrize(("bounds", "text"), NEAR)
def test_exclusive_bound_ignored_by_llguidance_is_refused(
    bounds: dict[str, Json], text: str
) -> None:
    schema: Json = {"type": "number", **bounds}
    matcher = LLMatcher(tokenizer(), LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    assert matcher.try_consume_tokens([*text.encode()]) == len(text)
    assert matcher.is_accepting()
    with pytest.raises(UnheldKeywordError, match="exclusive"):
        guidance_schema(schema)
    assert guidance_schema({**bounds, "type": "integer"}).text
