"""A tagged argument is held to all that its schema says, in Lark and in GBNF, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autoparser.analysis.constraining.grammar import Grammar, SchemaError
from tests.analysis.reading.parsing.loop import analysis_of

from .tokens import byte_tokenizer, guidance
from .walks import decoder, gbnf_decoder, refusal

XML = "a1-function-parameter"
CALL = (
    "Well.\n</think>\n\n<tool_call>\n<function=book>\n<parameter=it>\n{}\n</parameter>\n"
    "</function>\n</tool_call>"
)
DEFS: dict[str, Any] = {
    "Unit": {"enum": ["metric", "imperial"], "title": "Unit", "type": "string"},
    "Five": {"type": "integer", "minimum": 5},
    "Guest": {
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 18}},
        "required": ["age"],
        "additionalProperties": False,
    },
}
WRITERS: dict[str, Callable[..., Any]] = {"lark": decoder, "gbnf": gbnf_decoder}


def grammar_for(schema: Any, **more: Any) -> Grammar:
    parameters = {"type": "object", "properties": {"it": schema}, "required": ["it"], **more}
    tool = {"name": "book", "parameters": {"additionalProperties": False, **parameters}}
    return analysis_of(XML).grammar([tool])


HELD: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"allOf": [{"minimum": 5}, {"minimum": 2}], "type": "integer"}, ["5", "12"], list("1234")),
    ({"allOf": [{"minimum": 2}, {"minimum": 5}], "type": "integer"}, ["5", "12"], list("1234")),
    ({"$ref": "#/$defs/Five", "minimum": 2}, ["5", "9"], ["2", "4"]),
    ({"$ref": "#/$defs/Five", "minimum": 7}, ["7"], ["5", "6"]),
    ({"allOf": [{"$ref": "#/$defs/Five"}, {"maximum": 6}]}, ["5", "6"], ["4", "7"]),
    ({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}, ["5"], ["five"]),
    ({"allOf": [{"$ref": "#/$defs/Unit"}], "default": "metric"}, ["metric"], ["both"]),
    ({"allOf": [{"$ref": "#/$defs/Unit"}, {"enum": ["both", "metric"]}]}, ["metric"], ["both"]),
    ({"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]}, ["metric", "None"], ["both"]),
    ({"anyOf": [{"const": 1}, {"const": "one"}], "not": {"type": "null"}}, ["1", "one"], ["two"]),
    ({"enum": [1, 5, 9], "minimum": 5}, ["5", "9"], ["1"]),
    ({"enum": ["a", "abc"], "const": "abc"}, ["abc"], ["a"]),
    ({"enum": [1, "a", None], "type": ["string", "null"]}, ["a", "None"], ["1"]),
    ({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "null"}]}, ["5", "None"], ["4"]),
    (
        {"anyOf": [{"minimum": 5}, {"maximum": 1}], "oneOf": [{"type": "integer"}]},
        ["5", "1"],
        ["3", "2.5"],
    ),
    (
        {"type": "integer", "allOf": [{"anyOf": [{"minimum": 8}, {"maximum": 3}]}, {"minimum": 2}]},
        ["2", "3", "8"],
        ["1", "5"],
    ),
    (
        {"allOf": [{"$ref": "#/$defs/Guest"}, {"properties": {"age": {"maximum": 99}}}]},
        ['{"age": 18}', '{"age": 99}'],
        ['{"age": 17}', '{"age": 100}', '{"age": 20, "b": 1}', "{}"],
    ),
    (
        {"type": "array", "items": {"$ref": "#/$defs/Five", "maximum": 6}, "maxItems": 2},
        ["[5, 6]"],
        ["[4]", "[7]", "[5, 5, 5]"],
    ),
]


@pytest.mark.parametrize("target", WRITERS)
@pytest.mark.parametrize(("schema", "good", "bad"), HELD, ids=str)
def test_all_of_a_schema_is_held_to(
    target: str, schema: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    grammar = grammar_for(schema, **{"$defs": DEFS})
    loaded = WRITERS[target](grammar, byte_tokenizer(), guidance())
    for text in good:
        assert refusal(loaded, CALL.format(text)) == "", text
    for text in bad:
        assert refusal(loaded, CALL.format(text)), text


SHAPED: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"allOf": [{"pattern": "^a"}, {"pattern": "b$"}], "type": "string"}, ["ab", "acb"], ["a"]),
    ({"pattern": "^[ab]+$", "minLength": 2, "type": "string"}, ["ab", "bbb"], ["a", "abc"]),
    ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]}, ["ab", "123"], ["abc"]),
]


@pytest.mark.parametrize(("schema", "good", "bad"), SHAPED, ids=str)
def test_text_is_held_to_all_its_patterns_and_lengths(
    schema: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    loaded = decoder(grammar_for(schema), byte_tokenizer(), guidance())
    for text in good:
        assert refusal(loaded, CALL.format(text)) == "", text
    for text in bad:
        assert refusal(loaded, CALL.format(text)), text


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "string", "not": {"const": "x"}}, "not cannot be held to"),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, "if cannot be held to"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "may both hold"),
    ({"oneOf": [{"type": "string"}, {"maxLength": 3}]}, "may both hold"),
    ({"allOf": [{"not": {"const": 1}}, {"not": {"const": "x"}}]}, "not cannot be held to"),
]


@pytest.mark.parametrize(("schema", "words"), REFUSED, ids=str)
def test_what_raw_text_cannot_be_held_to_is_refused(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        grammar_for(schema).rules()
    assert caught.value.place == "the parameters of book"


PAIR: dict[str, Any] = {"it": {"const": "a"}, "that": {"const": "b"}}
IT, THAT = ("<parameter=it>\na\n</parameter>\n", "<parameter=that>\nb\n</parameter>\n")


@pytest.mark.parametrize(
    ("more", "good", "bad"),
    [
        ({"anyOf": [{"required": ["it"]}, {"required": ["that"]}]}, [IT, THAT, IT + THAT], [""]),
        ({"allOf": [{"required": ["it"]}, {"required": ["that"]}]}, [IT + THAT], [IT, THAT, ""]),
        ({"$ref": "#/$defs/needed"}, [THAT, IT + THAT], [IT]),
    ],
    ids=str,
)
def test_parameters_are_held_to_all_that_is_said_of_them(
    more: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    parameters = {"type": "object", "properties": PAIR, "additionalProperties": False, **more}
    parameters["$defs"] = {"needed": {"required": ["that"]}}
    grammar = analysis_of(XML).grammar([{"name": "book", "parameters": parameters}])
    call = CALL.replace("<parameter=it>\n{}\n</parameter>\n", "{}")
    for load in WRITERS.values():
        loaded = load(grammar, byte_tokenizer(), guidance())
        for written in good:
            assert refusal(loaded, call.format(written)) == "", written
        for written in bad:
            assert refusal(loaded, call.format(written)), written


def test_arguments_in_json_are_held_to_all_of_it() -> None:
    parameters = {"properties": {"it": {"minimum": 2}}, "$ref": "#/$defs/Whole"}
    whole = {"properties": {"it": {"$ref": "#/$defs/Five"}}, "required": ["it"], "type": "object"}
    parameters["$defs"] = {**DEFS, "Whole": whole}
    grammar = analysis_of("j1-json-in-tags").grammar([{"name": "book", "parameters": parameters}])
    for load in WRITERS.values():
        loaded = load(grammar, byte_tokenizer(), guidance())
        call = '<tool_call>\n{"name": "book", "arguments": {"it": %s}}\n</tool_call>'
        assert refusal(loaded, call % "5") == ""
        assert refusal(loaded, call % "4")


def test_strict_closes_objects_and_nothing_that_looks_like_one() -> None:
    sample = {"properties": {"a": 1}}
    schema = {"type": "object", "properties": {"it": {"const": sample}}, "required": ["it"]}
    tool = {"name": "book", "strict": True, "parameters": schema}
    grammar = analysis_of(XML).grammar([tool])
    held = grammar.tools["book"]
    assert held == {**schema, "additionalProperties": False}
