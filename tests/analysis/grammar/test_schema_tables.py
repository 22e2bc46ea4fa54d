"""Check a schema's grammar: accepted values, refused and costly schemas, and llguidance calls."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from llguidance import LLMatcher

from autoparser import Json, analyze, load_template
from autoparser.analysis.core.json_types import value_identity
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError
from autoparser.analysis.grammar import schema_guidance as loadable, schema_options
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.schema_guidance import (
    GuidanceSchema,
    ensure_loaded,
    guidance_schema,
)
from tests.case_tables import load_cases
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

from .judge import Judge, gbnf, tokenizer

TABLES = load_cases(__file__, "schema_tables.yaml")
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


@pytest.fixture
def questions(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the schemas that are asked about; nothing is known from before."""
    monkeypatch.setattr(loadable, "KNOWN", loadable.KNOWN.__class__())
    asked: list[str] = recorded(loadable, "guidance_refusal")
    return asked


PLAIN: tuple[Json, ...] = TABLES["plain"]


@pytest.mark.parametrize("schema", PLAIN)
def test_plain_schemas_need_no_question(schema: Json, questions: list[str]) -> None:
    ensure_loaded([guidance_schema(schema)])
    assert questions == []


def holding(pattern: str, length: int, *required: str) -> GuidanceSchema:
    text: Json = {"type": "string", "pattern": pattern, "minLength": length}
    return guidance_schema({"type": "object", "properties": {"a": text}, "required": [*required]})


def test_each_schema_is_checked_once(questions: list[str]) -> None:
    schemas = [holding("^a+$", length, "a") for length in range(2, 22)]
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


def test_text_that_llguidance_gives_up_on_is_asked_about_alone(questions: list[str]) -> None:
    pattern = r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$"
    host: Json = {"type": "string", "pattern": pattern, "maxLength": 253}
    members: Json = {"a": host, "b": {"type": "array", "items": host}}
    schema: Json = {"type": "object", "properties": members}
    with pytest.raises(UnheldKeywordError) as error:
        ensure_loaded([guidance_schema(schema)])
    places = [found.pointer for found in (error.value, *error.value.more)]
    assert places == ["#/properties/a/maxLength", "#/properties/b/items/maxLength"]
    # With its length and without it.
    assert len(questions) == 2


@pytest.mark.parametrize("schema", TABLES["contradictory"])
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


NEAR: list[tuple[dict[str, Json], str]] = TABLES["near"]


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


J1, A1 = "j1-json-in-tags", "a1-function-parameter"
CHOICES = [
    {
        "anyOf": [
            {"type": "object", "properties": {f"{letter}{at}": {"const": letter}}}
            for letter in "abcd"
        ]
    }
    for at in range(12)
]
JOINED = {
    "of a call": {"type": "object", "allOf": CHOICES},
    "of a member": {"type": "object", "properties": {"x": {"allOf": CHOICES}}},
    "of others": {"type": "object", "additionalProperties": {"allOf": CHOICES}},
    "of items": {"properties": {"x": {"type": "array", "items": {"allOf": CHOICES}}}},
}


def tool(parameters: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "dear", "parameters": parameters}}


@pytest.mark.parametrize("template", [J1, A1])
@pytest.mark.parametrize("place", JOINED)
def test_multiplying_unions_are_refused_with_the_tools_name(template: str, place: str) -> None:
    analysis = analyze(load_template(f"fixtures/templates/{template}.jinja"))
    with pytest.raises(SchemaError, match=r"the parameters of dear.*unions that apply at once"):
        analysis.grammar([tool(JOINED[place])]).gbnf()


def test_enum_cost_grows_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(load_template(f"fixtures/templates/{J1}.jinja"))
    counts: list[int] = []

    def counted(value: Json) -> str:
        counts[-1] += 1
        return value_identity(value)

    monkeypatch.setattr(schema_options, "value_identity", counted)
    for size in (1000, 2000):
        counts.append(0)
        values = [f"v{at}" for at in range(size)]
        parameters = {"type": "object", "properties": {"x": {"enum": values}}}
        assert "v999" in analysis.grammar([tool(parameters)]).gbnf()
    assert counts[1] <= 2 * counts[0] + 10
