"""All kinds of constraints: what each takes, with a tokenizer of bytes and a real one."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.decoding.constraints import ANY_JSON, Constraint, ConstraintError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend

from .states import is_answer

USER = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ARITHMETIC = """
    root ::= expr
    expr ::= term (("+" | "-") term)*
    term ::= factor (("*" | "/") factor)*
    factor ::= number | "(" expr ")"
    number ::= [0-9]+
"""
TAG = {
    "structures": [
        {"begin": "<tool_call>", "schema": USER, "end": "</tool_call>"},
        {"begin": "<result>", "schema": {"type": "integer"}, "end": "</result>"},
    ],
    "triggers": ["<tool_call>", "<result>"],
}
TABLE: list[tuple[str, Constraint, list[str], list[str]]] = [
    (
        "a schema",
        Constraint.json_schema(USER),
        ['{"name": "Ann", "age": 3}', '{"name":"é🙂","age":0}', '{\n  "name": "",\n  "age": 1}'],
        ["", "{}", '{"age": 3, "name": "Ann"}', '{"name": "Ann", "age": -1}', "hello"],
    ),
    (
        "a schema without whitespace",
        Constraint.json_schema(USER, whitespace="compact"),
        ['{"name":"Ann","age":3}'],
        ['{"name": "Ann","age":3}', '{"name":"Ann","age":3 }'],
    ),
    (
        "a schema with one blank at most",
        Constraint.json_schema(USER, whitespace="[ ]?"),
        ['{"name":"Ann", "age":3}'],
        ['{"name":"Ann",  "age":3}', '{"name":"Ann",\n"age":3}'],
    ),
    (
        "any JSON",
        Constraint.json_schema(ANY_JSON),
        ["1", "null", '"a"', "[]", '{"a": [1, {"b": true}]}'],
        ["", "a", "{", "[1,]"],
    ),
    ("a schema as text", Constraint.json_schema('{"type": "boolean"}'), ["true"], ["1"]),
    (
        "a constant that holds a tag",
        Constraint.json_schema({"enum": ["<think>", "a</tool_call>"]}),
        ['"<think>"', '"a</tool_call>"'],
        ['"a"', '"<think"'],
    ),
    (
        "a regex",
        Constraint.regex(r"\d{3}-\d{3}-\d{4}"),
        ["012-345-6789"],
        ["012-345-678", "012-345-67890", "abc"],
    ),
    ("a regex that is a tag", Constraint.regex("<think>[ab]+"), ["<think>ab"], ["<think>"]),
    ("a regex with a slash", Constraint.regex("a/b|c\\n"), ["a/b", "c\n"], ["a\\/b"]),
    (
        "a grammar in EBNF",
        Constraint.ebnf(ARITHMETIC),
        ["1", "1+2*(3-4)", "((1))"],
        ["", "1+", "(1", "a"],
    ),
    (
        "a grammar in Lark",
        Constraint.ebnf('start: NAME ("," NAME)*\nNAME: /[a-z]+/'),
        ["a", "ab,cd"],
        ["", "a,", "A"],
    ),
    (
        "the escapes of GBNF",
        Constraint.ebnf('root ::= "\\u0041B\\x2C\\n\\"" [\\u0061-c\\x2d]'),
        ['AB,\n"a', 'AB,\n"b', 'AB,\n"-'],
        ['AB,\n"d', 'AB,\\n"a'],
    ),
]


@pytest.mark.parametrize(
    "vocabulary", ["bytes_backend", pytest.param("qwen_backend", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("constraint", "taken", "refused"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_each_kind_takes_what_it_says(
    constraint: Constraint,
    taken: list[str],
    refused: list[str],
    vocabulary: str,
    request: pytest.FixtureRequest,
) -> None:
    backend: GrammarBackend = request.getfixturevalue(vocabulary)
    grammar = backend.grammar(constraint)
    for text in taken:
        tokens = backend.tokenizer.encode_plain(text.encode())
        assert is_answer(grammar, backend.tokenizer, tokens), text
    for text in refused:
        tokens = backend.tokenizer.encode_plain(text.encode())
        assert not is_answer(grammar, backend.tokenizer, tokens), text


def test_a_token_in_gbnf_is_the_token(qwen_backend: GrammarBackend) -> None:
    """A literal's tags are the tokens that the model writes, not their letters."""
    tokenizer = qwen_backend.tokenizer
    grammar = qwen_backend.grammar(Constraint.ebnf('root ::= "<think>\\n" [a-z]+ "</think>"'))
    assert is_answer(grammar, tokenizer, tokenizer.encode("<think>\nab</think>"))
    assert not is_answer(grammar, tokenizer, tokenizer.encode_plain(b"<think>\nab</think>"))


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        (Constraint.json_schema({"type": "objec"}), "objec"),
        (Constraint.json_schema({"type": "array", "uniqueItems": True}), "uniqueItems"),
        (Constraint.json_schema({"type": "string", "pattern": "a(?=b)"}), "look-ahead"),
        (Constraint.json_schema({"$ref": "#/$defs/no"}), "no"),
        (Constraint.regex("a(?=b)"), "look-ahead"),
        (Constraint.regex("(a"), "unclosed"),
        (Constraint.ebnf("root ::= ("), "Expected ')'"),
        (Constraint.ebnf('rooty ::= "a"'), "root"),
        (Constraint.ebnf('start: "a" b'), "unknown name"),
        (Constraint.ebnf('start: "a" <[99999999]>'), "too large"),
    ],
)
def test_what_cannot_be_compiled_is_one_line(
    constraint: Constraint, says: str, bytes_backend: GrammarBackend
) -> None:
    for _ in range(2):
        with pytest.raises(ConstraintError) as caught:
            bytes_backend.grammar(constraint)
        assert says in str(caught.value)
        assert constraint.kind.value in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "<state>" not in str(caught.value)


def test_the_structural_tag_of_the_table_is_both_free_and_bound(
    bytes_backend: GrammarBackend,
) -> None:
    tokenizer = bytes_backend.tokenizer
    grammar = bytes_backend.grammar(Constraint.structural_tag(TAG))
    texts: dict[str, bool] = {
        "": True,
        "just text, with a < b": True,
        'a<tool_call>{"name": "x", "age": 1}</tool_call>b': True,
        '<tool_call>{"name": "x", "age": 1}</tool_call><result>3</result>': True,
        "<tool_call>{}</tool_call>": False,
        "<result>x</result>": False,
        "text <result>3": False,
    }
    for text, expected in texts.items():
        assert is_answer(grammar, tokenizer, tokenizer.encode(text)) is expected, text


def test_order_of_properties_is_part_of_a_schema_and_of_keywords_is_not() -> None:
    first: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "null"}, "b": {}}}
    keywords = {"properties": {"a": {"type": "null"}, "b": {}}, "type": "object"}
    properties = {"type": "object", "properties": {"b": {}, "a": {"type": "null"}}}
    assert Constraint.json_schema(first) == Constraint.json_schema(keywords)
    assert Constraint.json_schema(first) != Constraint.json_schema(properties)
    values = [{"const": {"b": 1, "a": 2}}, {"const": {"a": 2, "b": 1}}]
    assert Constraint.json_schema(values[0]) != Constraint.json_schema(values[1])
