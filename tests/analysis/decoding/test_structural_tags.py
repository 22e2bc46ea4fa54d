"""Structural tags in both shapes, where markers are tokens and where they are text."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend

from .states import allowed, is_answer, spelled, takes

INTEGER = {"type": "integer"}
F = {
    "type": "object",
    "properties": {"x": INTEGER},
    "required": ["x"],
    "additionalProperties": False,
}


def tag(form: dict[str, Any]) -> Constraint:
    return Constraint.structural_tag({"type": "structural_tag", "format": form})


def call(name: str) -> dict[str, Any]:
    return {
        "type": "tag",
        "begin": f'<tool_call>\n{{"name": "{name}", "arguments": ',
        "content": {"type": "json_schema", "json_schema": F},
        "end": "}\n</tool_call>",
    }


def written(name: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {{"x": 1}}}}\n</tool_call>'


SHORT = {
    "type": "tag",
    "begin": "<f>",
    "content": {"type": "json_schema", "json_schema": INTEGER},
    "end": "</f>",
}
TRIGGERED = {"type": "triggered_tags", "triggers": ["<f"], "tags": [SHORT]}
SEPARATED = {"type": "tags_with_separator", "separator": ",", "tags": [SHORT]}
THINKING = {
    "type": "tag",
    "begin": "<think>",
    "content": {"type": "any_text"},
    "end": "</think>",
}
WORD = {"type": "regex", "pattern": "[a-z]+"}
WORD_UP_TO = {"type": "sequence", "elements": [WORD, {"type": "const_string", "value": ";"}]}

FORMATS: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    (
        "calls",
        {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [call("f"), call("g")]},
        ["", "a < b", written("f"), f"text {written('f')}\n{written('g')} and <tool"],
        [written("h"), f"{written('f')}<tool_call>", '<tool_call>{"name": "f"'],
    ),
    (
        "a trigger that ends inside a token",
        {"type": "triggered_tags", "triggers": ["<tool"], "tags": [call("f"), call("g")]},
        ["", written("f"), f"text {written('g')}"],
        [written("h"), f"{written('f')}<tool_call>"],
    ),
    (
        "two triggers",
        {
            "type": "triggered_tags",
            "triggers": ["<tool_call>", "<f>"],
            "tags": [call("f"), SHORT],
        },
        ["<f>1</f>", f"a<f>1</f>b{written('f')}c<f>2</f>"],
        ["<f></f>", "<f>1", "a<f>1</f"],
    ),
    (
        "free or one call",
        {**TRIGGERED, "stop_after_first": True},
        ["", "abc", "<f>1</f>", "a<f>1</f>"],
        ["<f>1</f>b", "<f>1</f><f>1</f>", "a<f"],
    ),
    (
        "a call first",
        {**TRIGGERED, "at_least_one": True},
        ["<f>1</f>", "<f>1</f>b", "<f>1</f>b<f>1</f>", "<f>1</f><f>1</f>"],
        ["", "abc", "a<f>1</f>"],
    ),
    (
        "exactly one call",
        {**TRIGGERED, "at_least_one": True, "stop_after_first": True},
        ["<f>1</f>"],
        ["", "abc", "a<f>1</f>", "<f>1</f>b", "<f>1</f><f>1</f>"],
    ),
    (
        "free text without some words",
        {**TRIGGERED, "excludes": ["bad", "<g>"]},
        ["abc", "ba<f>1</f>ba d"],
        ["bad", "a bad <f>1</f>", "<f>1</f><g>"],
    ),
    ("separated", SEPARATED, ["", "<f>1</f>", "<f>1</f>,<f>2</f>"], ["<f>1</f>,", "a"]),
    (
        "separated, one at least",
        {**SEPARATED, "at_least_one": True},
        ["<f>1</f>", "<f>1</f>,<f>2</f>"],
        ["", ","],
    ),
    (
        "separated, one at most",
        {**SEPARATED, "stop_after_first": True},
        ["", "<f>1</f>"],
        ["<f>1</f>,<f>2</f>"],
    ),
    (
        "thinking, then calls",
        {
            "type": "sequence",
            "elements": [
                THINKING,
                {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [call("f")]},
            ],
        },
        ["<think></think>", f"<think>a <tool_call> b</think>c{written('f')}"],
        ["", "a", "<think>", f"<think>a</think>{written('g')}"],
    ),
    (
        "calls up to a fixed text",
        {
            "type": "sequence",
            "elements": [TRIGGERED, {"type": "const_string", "value": "</think>done"}],
        },
        ["</think>done", "a<f>1</f>b</think>done", "<f>1</f></think>done"],
        ["", "a<f>1</f>", "<f></think>done", "</think>do"],
    ),
    (
        "one of two ends",
        {**THINKING, "end": ["</think>", "<end>"]},
        ["<think>a</think>", "<think>a b<end>", "<think><end>"],
        ["<think>a", "<think>a<end></think>"],
    ),
    (
        "any text alone",
        {"type": "any_text", "excludes": ["<tool_call>"]},
        ["", "a\n\nb"],
        ["a<tool_call>"],
    ),
    (
        "a regex up to its end",
        {"type": "tag", "begin": "(", "content": WORD, "end": "end)"},
        ["(aend)", "(abcend)"],
        ["(end)", "(a)", "(1end)"],
    ),
    (
        "a grammar within",
        {
            "type": "sequence",
            "elements": [
                {"type": "const_string", "value": "<think>"},
                {"type": "grammar", "grammar": 'root ::= "a" | "(" root ")" | "</think>"'},
                {"type": "grammar", "grammar": 'start: "1" | "}"'},
            ],
        },
        ["<think>((a))1", "<think>(</think>)}"],
        ["<think>((a)1", "((a))1", "<think>a"],
    ),
    (
        "a grammar with any text but some",
        {
            "type": "grammar",
            "grammar": 'root ::= "<a>" text "</a>\\n" again\nagain ::= "" | root\n'
            'text ::= TagDispatch(loop_after_dispatch=false, excludes=("</a>", "</b>"))\n',
        },
        ["<a></a>\n", "<a><</</a</a>\n", "<a>1\n</a>\n<a><a></a>\n"],
        ["<a></b></a>\n", "<a>1", "<a>1</a>1</a>\n", "1</a>\n"],
    ),
    (
        "again and again",
        {
            "type": "sequence",
            "elements": [
                {"type": "repeat", "min": 1, "max": 2, "content": SHORT},
                {"type": "optional", "content": {"type": "const_string", "value": "!"}},
                {"type": "star", "content": {"type": "const_string", "value": "a"}},
                {"type": "plus", "content": {"type": "const_string", "value": "b"}},
                {"type": "repeat", "min": 0, "max": -1, "content": WORD},
            ],
        },
        ["<f>1</f>b", "<f>1</f><f>2</f>!aabbxyz"],
        ["b", "<f>1</f><f>1</f><f>1</f>b", "<f>1</f>a"],
    ),
    (
        "a choice",
        {"type": "or", "elements": [SHORT, WORD, {"type": "const_string", "value": "<think>"}]},
        ["<f>1</f>", "word", "<think>"],
        ["", "<f>1</f>word", "1"],
    ),
    (
        "a dispatch",
        {"type": "dispatch", "rules": [["<f>", WORD_UP_TO], ["<g>", SHORT]], "excludes": ["no"]},
        ["", "text<f>abc;text", "<g><f>1</f> n o<f>a;"],
        ["<f>abc", "no", "<g>1"],
    ),
    (
        "a dispatch, once",
        {"type": "dispatch", "rules": [["<f>", WORD_UP_TO]], "loop": False},
        ["", "text<f>abc;"],
        ["<f>abc;text"],
    ),
]


@pytest.mark.parametrize(
    "markers",
    [
        pytest.param("bytes_backend", id="tokens"),
        pytest.param("plain_backend", id="text"),
        pytest.param("qwen_backend", id="qwen", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("form", "taken", "refused"), [row[1:] for row in FORMATS], ids=[row[0] for row in FORMATS]
)
def test_each_format_takes_what_it_says(
    form: dict[str, Any],
    taken: list[str],
    refused: list[str],
    markers: str,
    request: pytest.FixtureRequest,
) -> None:
    """As the tokenizer writes it: with added tokens where it has them."""
    backend: GrammarBackend = request.getfixturevalue(markers)
    tokenizer = backend.tokenizer
    grammar = backend.grammar(tag(form))
    for text in taken:
        assert is_answer(grammar, tokenizer, tokenizer.encode(text)), text
    for text in refused:
        assert not is_answer(grammar, tokenizer, tokenizer.encode(text)), text


# A grammar within is EBNF to xgrammar; one in Lark is this project's own.
SHARED = [row for row in FORMATS if "start:" not in str(row[1])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "taken", "refused"), [row[1:] for row in SHARED], ids=[row[0] for row in SHARED]
)
def test_xgrammar_reads_each_format_alike(
    form: dict[str, Any], taken: list[str], refused: list[str]
) -> None:
    """Whose formats they are; it comes with torch, and is skipped where it is not installed."""
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    accepts = importlib.import_module("xgrammar.testing")._is_grammar_accept_string
    grammar = xgrammar.Grammar.from_structural_tag({"type": "structural_tag", "format": form})
    assert [text for text in taken if not accepts(grammar, text)] == []
    assert [text for text in refused if accepts(grammar, text)] == []


def test_the_older_shape_is_the_same(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    begin, end = call("f")["begin"], call("f")["end"]
    older = {"structures": [{"begin": begin, "schema": F, "end": end}], "triggers": ["<tool_call>"]}
    for wrapped in (older, {"type": "structural_tag", **older}):
        grammar = qwen_backend.grammar(Constraint.structural_tag(wrapped))
        assert is_answer(grammar, tokenizer, tokenizer.encode(f"a{written('f')}b"))
        assert not is_answer(grammar, tokenizer, tokenizer.encode(written("g")))


def test_whitespace_of_the_json_within(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    document = {"type": "structural_tag", "format": call("f")}
    compact = qwen_backend.grammar(Constraint.structural_tag(document, whitespace="compact"))
    assert not is_answer(compact, tokenizer, tokenizer.encode(written("f")))
    assert is_answer(compact, tokenizer, tokenizer.encode(written("f").replace(": 1", ":1")))


def test_free_text_has_the_tokens_that_are_text(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    form = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [call("f")]}
    mask = set(allowed(qwen_backend.grammar(tag(form))))
    ids = {token.text: token.id for token in tokenizer.added}
    assert {ids["<think>"], ids["</tool_call>"], ids["<tool_call>"], tokenizer.eos_id} <= mask
    assert not {ids["<|im_start|>"], ids["<|vision_start|>"]} & mask


def test_tokens_named_in_a_format(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    ids = {token.text: token.id for token in tokenizer.added}
    form = {
        "type": "token_triggered_tags",
        "trigger_tokens": ["<tool_call>"],
        "tags": [
            {
                "type": "tag",
                "begin": {"type": "token", "token": ids["<tool_call>"]},
                "content": {"type": "json_schema", "json_schema": INTEGER},
                "end": {"type": "token", "token": "</tool_call>"},
            }
        ],
        "exclude_tokens": ["<think>"],
    }
    grammar = qwen_backend.grammar(tag(form))
    assert ids["<think>"] not in allowed(grammar)
    assert is_answer(grammar, tokenizer, tokenizer.encode("a<tool_call>1</tool_call>"))
    dispatch = {
        "type": "token_dispatch",
        "rules": [["<tool_call>", {"type": "token", "token": ids["</tool_call>"]}]],
    }
    grammar = qwen_backend.grammar(tag(dispatch))
    assert is_answer(grammar, tokenizer, tokenizer.encode("a<tool_call></tool_call>b"))


def test_a_token_inside_a_longer_marker(deepseek_backend: GrammarBackend) -> None:
    """DeepSeek's ｜DSML｜ is one token between two texts, and llguidance takes it as text."""
    tokenizer = deepseek_backend.tokenizer
    mark = "｜DSML｜"
    begin = f'<{mark}invoke name="f">\n'
    form = {
        "type": "triggered_tags",
        "triggers": [f"<{mark}invoke"],
        "tags": [
            {
                "type": "tag",
                "begin": begin,
                "content": {"type": "json_schema", "json_schema": F},
                "end": f"</{mark}invoke>",
            }
        ],
    }
    grammar = deepseek_backend.grammar(tag(form))
    good = f'text{begin}{{"x": 1}}</{mark}invoke>more <{mark}other'
    bad = f'text<{mark}invoke name="g">'
    assert is_answer(grammar, tokenizer, tokenizer.encode(good))
    assert not takes(grammar, tokenizer.encode(bad))


def test_text_before_a_token_as_a_trigger(deepseek_backend: GrammarBackend) -> None:
    """A trigger that begins with text and goes on with a token that is never text."""
    tokenizer = deepseek_backend.tokenizer
    form = {
        "type": "triggered_tags",
        "triggers": ["call:<｜tool▁sep｜>"],
        "tags": [
            {
                "type": "tag",
                "begin": "call:<｜tool▁sep｜>f",
                "content": {"type": "json_schema", "json_schema": F},
                "end": "<｜tool▁call▁end｜>",
            }
        ],
    }
    grammar = deepseek_backend.grammar(tag(form))
    good = 'I call: call:<｜tool▁sep｜>f{"x": 1}<｜tool▁call▁end｜> and call'
    assert is_answer(grammar, tokenizer, tokenizer.encode(good))
    for bad in ("call<｜tool▁sep｜>", "call:<｜tool▁sep｜>g", 'call:<｜tool▁sep｜>f{"y"'):
        assert not takes(grammar, tokenizer.encode(bad))
        grammar.reset()


def test_a_marker_that_is_text_is_found_in_any_spelling(plain_backend: GrammarBackend) -> None:
    tokenizer = plain_backend.tokenizer
    grammar = plain_backend.grammar(tag(TRIGGERED))
    for tokens in (tokenizer.encode("a<f>1</f>b"), spelled("a<f>1</f>b", tokenizer)):
        assert is_answer(grammar, tokenizer, tokens)
    assert not takes(grammar, spelled("a<f>x", tokenizer))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "structural_tag: a structural tag has structures and triggers, or a format"),
        ({"structures": []}, "structural_tag: has no triggers"),
        ({"structures": [], "triggers": ["a"]}, "structures: there are no tags"),
        ({"structures": [{"begin": "a"}], "triggers": ["a"]}, "structures[0]: has no schema"),
        (
            {"structures": [{"begin": "a", "schema": 3, "end": ""}], "triggers": ["a"]},
            "structures[0].schema: a schema is an object",
        ),
        (
            {"structures": [{"begin": "a", "schema": {}, "end": ""}], "triggers": ["b"]},
            "structures[0].begin: 'a' begins with none of the triggers",
        ),
        (
            {"structures": [{"begin": "ab", "schema": {}, "end": ""}], "triggers": ["a", "ab"]},
            "begins with 'a' and 'ab'",
        ),
        ({"structures": {}, "triggers": []}, "structures: is not a list but dict"),
        ({"format": []}, "format: is not an object but list"),
        ({"format": {}}, "format: has no type"),
        ({"format": {"type": "exclude_token"}}, "the format 'exclude_token' is not supported"),
        ({"format": {"type": "qwen_xml_parameter"}}, "'qwen_xml_parameter' is not supported"),
        ({"format": {"type": ["a"]}}, "format.type: the format ['a'] is not supported"),
        (
            {"format": {"type": "json_schema", "json_schema": {}, "style": "glm_xml"}},
            "format.style: style 'glm_xml' is not supported",
        ),
        (
            {"format": {"type": "any_text", "max_tokens": 3}},
            "format.max_tokens: max_tokens is not supported",
        ),
        (
            {"format": {"type": "sequence", "elements": [{"type": "regex"}]}},
            "format.elements[0]: has no pattern",
        ),
        ({"format": {"type": "or", "elements": []}}, "there are no elements"),
        (
            {"format": {"type": "token", "token": "<nothing>"}},
            "format.token: '<nothing>' is not an added token",
        ),
        (
            {
                "format": {
                    "type": "sequence",
                    "elements": [{"type": "any_text"}, {"type": "regex", "pattern": "a"}],
                }
            },
            "free text has to be followed by fixed text",
        ),
        (
            {
                "format": {
                    "type": "tag",
                    "begin": "a",
                    "content": {"type": "any_text"},
                    "end": ["b", ""],
                }
            },
            "need an end that is not empty",
        ),
        (
            {"format": {"type": "repeat", "content": {"type": "any_text"}, "min": 2, "max": 1}},
            "max is less than min",
        ),
    ],
)
def test_what_a_tag_lacks_is_said_with_its_place(
    given: dict[str, Any], says: str, bytes_backend: GrammarBackend
) -> None:
    with pytest.raises(ConstraintError) as caught:
        bytes_backend.grammar(Constraint.structural_tag(given))
    assert says in str(caught.value)
