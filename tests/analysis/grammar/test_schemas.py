"""A tagged argument is held to all that its schema says, in Lark and in GBNF, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.schema_keywords import SchemaError, UnheldKeywordError
from autoparser.analysis.grammar.request_grammar import Grammar
from tests.analysis.parsing.loop import analysis_of

from .proofs import grammar_for as request_grammar, request_for
from .tokens import byte_tokenizer, guidance
from .walks import decoder, gbnf_decoder, refusal

pytestmark = pytest.mark.slow

XML = "a1-function-parameter"
CALL = (
    "Well.\n</think>\n\n<tool_call>\n<function=book>\n<parameter=it>\n{}\n</parameter>\n"
    "</function>\n</tool_call>"
)
IN_JSON = "j1-json-in-tags"
JSON_CALL = '<tool_call>\n{{"name": "book", "arguments": {{"it": {}}}}}\n</tool_call>'
Form = Literal["lark", "gbnf"]
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


def grammar_for(schema: Any, *, style: str = XML, more: Any = None) -> Grammar:
    members: dict[str, Any] = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    parameters: dict[str, Any] = {"additionalProperties": False, **members, **(more or {})}
    tool: dict[str, Any] = {"name": "book", "parameters": parameters}
    return analysis_of(style).grammar([tool], loosen=False)


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
    grammar = grammar_for(schema, more={"$defs": DEFS})
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


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "string", "not": {"const": "x"}}, "not", "not cannot be held to"),
    ({"if": {"type": "string"}, "then": {"minLength": 2}}, "if", "if cannot be held to"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf", "may both hold"),
    ({"oneOf": [{"type": "string"}, {"maxLength": 3}]}, "oneOf", "may both hold"),
    ({"type": "string", "pattern": "(?=a)b"}, "pattern", "(?=a)b"),
    ({"type": "string", "format": "regex"}, "format", "'regex'"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems", "uniqueItems cannot be"),
    ({"type": "array", "contains": {"const": 1}}, "contains", "contains cannot be"),
    ({"type": "object", "dependentSchemas": {"a": {}}}, "dependentSchemas", "one member would"),
]


@pytest.mark.parametrize("style", [XML, IN_JSON])
@pytest.mark.parametrize("form", ["lark", "gbnf"])
@pytest.mark.parametrize(("schema", "place", "words"), REFUSED, ids=str)
def test_what_cannot_be_held_to_is_named_or_left_out_and_told(
    schema: dict[str, Any], place: str, words: str, form: Form, style: str
) -> None:
    pointer = f"#/properties/it/{place}"
    keyword = place.rpartition("/")[2]
    with pytest.raises(UnheldKeywordError) as caught:
        written(grammar_for(schema, style=style), form)
    assert str(caught.value).startswith(f"the parameters of book, {pointer}: ")
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    if style == XML:
        assert words in caught.value.message or keyword in caught.value.message
    looser = replace(grammar_for(schema, style=style), loosen=True)
    assert written(looser, form)
    told = looser.loosened(form)
    assert (told[0].tool, told[0].pointer, told[0].keyword) == ("book", pointer, keyword)
    assert str(told[0]).startswith(f"the parameters of book, {pointer} is not held to: ")


def written(grammar: Grammar, form: Form) -> str:
    return grammar.lark(byte_tokenizer()) if form == "lark" else grammar.gbnf()


@pytest.mark.parametrize("style", [XML, IN_JSON])
@pytest.mark.parametrize("form", ["lark", "gbnf"])
def test_a_looser_grammar_takes_more_and_what_is_left_is_held(form: Form, style: str) -> None:
    schema = {"type": "integer", "not": {"const": 7}, "minimum": 5}
    call = CALL if style == XML else JSON_CALL
    looser = replace(grammar_for(schema, style=style), loosen=True)
    loaded = WRITERS[form](looser, byte_tokenizer(), guidance())
    assert refusal(loaded, call.format("7")) == ""
    assert refusal(loaded, call.format("4"))


@pytest.mark.parametrize("form", ["lark", "gbnf"])
def test_an_overlapping_choice_is_loosened_to_any_of_it(form: Form) -> None:
    schema = {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "maximum": 7}]}
    looser = replace(grammar_for({**schema, "multipleOf": 1}), loosen=True)
    loaded = WRITERS[form](looser, byte_tokenizer(), guidance())
    for value in ("4", "6", "8"):
        assert refusal(loaded, CALL.format(value)) == ""
    assert refusal(loaded, CALL.format("x"))


@pytest.mark.parametrize("style", [XML, "j8-python-dict", IN_JSON])
@pytest.mark.parametrize("form", ["lark", "gbnf"])
@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"const": "ab", "pattern": "^b"},
        {"enum": ["2024-02-30"], "format": "date"},
        {"type": "integer", "minimum": 3, "maximum": 2},
    ],
    ids=str,
)
def test_what_nothing_can_meet_is_an_error(schema: dict[str, Any], form: Form, style: str) -> None:
    with pytest.raises(SchemaError, match="no value meets this schema") as caught:
        written(replace(grammar_for(schema, style=style), loosen=True), form)
    assert str(caught.value).startswith("the parameters of book")


FORMATS: list[tuple[dict[str, Any], str, str]] = [
    ({"format": "date"}, "2024-02-29", "2023-02-29"),
    ({"format": "time"}, "23:59:59Z", "23:59:60Z"),
    ({"format": "email"}, "a.b@c.example", "a b@c.example"),
    ({"format": "hostname"}, "a-b.example", "-a.example"),
    ({"format": "uri"}, "https://a.example/b?c#d", "a.example"),
    ({"format": "ipv4"}, "10.0.0.1", "10.0.0.256"),
    ({"format": "json-pointer"}, "/a/b~1c", "a"),
    ({"format": "uri-template"}, "/a{?b,c*}", "/a{|b}"),
    ({"format": "made-up"}, "anything", ""),
    ({"pattern": "^a|b$"}, "acb", "cac"),
    ({"format": "date", "pattern": "^2"}, "2024-01-01", "1999-01-01"),
    ({"pattern": "^['ab]+$", "maxLength": 3}, "a'b", "abab"),
    ({"minLength": 2, "maxLength": 3}, "abc", "abcd"),
    ({"pattern": "^[<&a]{2}$"}, "<a", "<"),
]


@pytest.mark.parametrize("style", [XML, "j8-python-dict", "arguments-html-escaped", IN_JSON])
@pytest.mark.parametrize(("said", "good", "bad"), FORMATS, ids=str)
def test_strings_in_every_notation_are_held_to_their_shape(
    said: dict[str, Any], good: str, bad: str, style: str
) -> None:
    parameters: dict[str, Any] = {"properties": {"it": {"type": "string", **said}}}
    tool: Json = {
        "name": "book",
        "parameters": {"type": "object", **parameters, "required": ["it"]},
    }
    format_ = analysis_of(style).format
    turns = {
        value: format_.write(Message(calls=(ToolCall("book", {"it": value}),)))
        for value in filter(None, (good, bad))
    }
    request, begun = request_for(format_, turns[good], [tool])
    assert all(request_for(format_, turn, [tool]) == (request, begun) for turn in turns.values())
    for form, load in WRITERS.items():
        try:
            loaded = load(request_grammar(format_, request), byte_tokenizer(), guidance())
        except UnheldKeywordError:
            assert form == "gbnf"
            continue
        for value, turn in turns.items():
            assert (refusal(loaded, turn[begun:]) == "") == (value == good), (form, value)


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
    members: dict[str, Any] = {"it": {"minimum": 2}}
    parameters: dict[str, Any] = {"properties": members, "$ref": "#/$defs/Whole"}
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
