"""Constraints of every kind: accepted values and refusals.

The table is `constraints.yaml`; its formats of structural tags are xgrammar's, and it reads them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autoparser.analysis.decoding.constraints import Constraint, ConstraintError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from tests.case_tables import case_tables, load_cases
from tests.corpus.grammar_readers import read_by_xgrammar
from tests.lanes import sampled

from .tokenizers_here import allowed, is_answer, spelled, takes

table = case_tables(__file__, "constraints.yaml")
TABLE = load_cases(__file__, "constraints.yaml")
ACCEPTED: list[dict[str, Any]] = TABLE["accepted"]


def compiled(backend: GrammarBackend, request: dict[str, Any]) -> Any:
    (kind, value), *options = request.items()
    return backend.grammar(getattr(Constraint, kind)(value, **dict(options)))


@pytest.mark.parametrize(
    "vocabulary",
    [
        *("bytes_backend", "plain_backend", "unigram_backend"),
        pytest.param("qwen_backend", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("case", sampled(ACCEPTED, 2), ids=lambda case: case["name"])
def test_constraint_accepts_only_its_answers(
    case: dict[str, Any], vocabulary: str, request: pytest.FixtureRequest
) -> None:
    backend: GrammarBackend = request.getfixturevalue(vocabulary)
    grammar, tokenizer = compiled(backend, case["request"]), backend.tokenizer

    def accepts(text: str) -> bool:
        # A marker is plain text in a fully constrained text, and its token in a tag.
        marked = case.get("marked")
        tokens = tokenizer.encode(text) if marked else tokenizer.encode_plain(text.encode())
        return is_answer(grammar, tokenizer, tokens)

    assert [text for text in case["accepted"] if not accepts(text)] == []
    assert [text for text in case["refused"] if accepts(text)] == []


# xgrammar takes an embedded grammar for EBNF; Lark ones are an extension of this project.
SHARED = [
    case
    for case in ACCEPTED
    if "format" in case["request"].get("structural_tag", ()) and "start:" not in str(case)
]


@pytest.mark.slow
@pytest.mark.parametrize("case", SHARED, ids=lambda case: case["name"])
def test_xgrammar_agrees_on_shared_structural_tags(case: dict[str, Any]) -> None:
    """It comes with torch, and is skipped where it is not installed."""
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    takes = read_by_xgrammar({"type": "structural_tag", **case["request"]["structural_tag"]})
    assert [text for text in case["accepted"] if not takes(text)] == []
    assert [text for text in case["refused"] if takes(text)] == []


@pytest.mark.parametrize("case", TABLE["errors"], ids=lambda case: case["says"])
def test_invalid_constraint_error_is_one_line(
    case: dict[str, Any], bytes_backend: GrammarBackend
) -> None:
    for _ in range(2):
        with pytest.raises(ConstraintError) as caught:
            compiled(bytes_backend, case["request"])
        assert case["says"] in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "<state>" not in str(caught.value)


def test_pydantic_class_and_true_are_accepted_as_schemas() -> None:
    model = SimpleNamespace(model_json_schema=lambda: {"type": "object"})
    assert Constraint.json_schema(model) == Constraint.json_schema({"type": "object"})
    assert Constraint.json_schema(True) == Constraint.json_schema({})


def test_structural_tag_as_json_string_equals_its_object() -> None:
    empty: dict[str, Any] = {"structures": [], "triggers": []}
    text = '{"structures": [], "triggers": []}'
    assert Constraint.structural_tag(text) == Constraint.structural_tag(empty)


def test_property_order_distinguishes_schemas_but_keyword_order_does_not() -> None:
    first: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "null"}, "b": {}}}
    keywords = {"properties": {"a": {"type": "null"}, "b": {}}, "type": "object"}
    properties = {"type": "object", "properties": {"b": {}, "a": {"type": "null"}}}
    assert Constraint.json_schema(first) == Constraint.json_schema(keywords)
    assert Constraint.json_schema(first) != Constraint.json_schema(properties)
    values = [{"const": {"b": 1, "a": 2}}, {"const": {"a": 2, "b": 1}}]
    assert Constraint.json_schema(values[0]) != Constraint.json_schema(values[1])


INTEGER = {"type": "integer"}
SHORT = TABLE["short"]
TRIGGERED = {"type": "triggered_tags", "triggers": ["<f"], "tags": [SHORT]}


def tag(form: dict[str, Any], **options: Any) -> Constraint:
    return Constraint.structural_tag({"type": "structural_tag", "format": form}, **options)


def test_plain_text_marker_matches_in_every_tokenization(plain_backend: GrammarBackend) -> None:
    tokenizer = plain_backend.tokenizer
    grammar = plain_backend.grammar(tag(TRIGGERED))
    for tokens in (tokenizer.encode("a<f>1</f>b"), spelled("a<f>1</f>b", tokenizer)):
        assert is_answer(grammar, tokenizer, tokens)
    assert not takes(grammar, spelled("a<f>x", tokenizer))


def test_json_in_a_tag_follows_the_requested_whitespace(plain_backend: GrammarBackend) -> None:
    form = {**SHORT, "content": {"type": "json_schema", "json_schema": {"items": INTEGER}}}
    compact = plain_backend.grammar(tag(form, whitespace="compact"))
    encode = plain_backend.tokenizer.encode
    assert is_answer(compact, plain_backend.tokenizer, encode("<f>[1,2]</f>"))
    assert not is_answer(compact, plain_backend.tokenizer, encode("<f>[1, 2]</f>"))


def test_dispatch_rules_with_the_same_pattern_are_alternatives(
    plain_backend: GrammarBackend,
) -> None:
    rules = [["<f>", {"type": "regex", "pattern": word}] for word in ("yes", "no")]
    grammar = plain_backend.grammar(tag({"type": "dispatch", "rules": rules}))
    encode = plain_backend.tokenizer.encode
    assert all(takes(grammar, encode(f"a<f>{word}")) for word in ("yes", "no"))
    assert not takes(grammar, encode("a<f>maybe"))


@pytest.mark.slow
def test_added_tokens_are_plain_text_unless_named(qwen_backend: GrammarBackend) -> None:
    tokenizer = qwen_backend.tokenizer
    ids = {token.text: token.id for token in tokenizer.added}
    begin: dict[str, Any] = {"type": "token", "token": ids["<tool_call>"]}
    named = {**SHORT, "begin": begin, "end": {"type": "token", "token": "</tool_call>"}}
    tokens = {"type": "token_triggered_tags", "trigger_tokens": ["<tool_call>"], "tags": [named]}
    called = {**SHORT, "begin": "<tool_call>"}
    dispatch = {
        "type": "token_dispatch",
        "rules": [["<tool_call>", {"type": "token", "token": ids["</tool_call>"]}]],
    }
    for form, answer in (
        ({**tokens, "exclude_tokens": ["<think>"]}, "a<tool_call>1</tool_call>"),
        (dispatch, "a<tool_call></tool_call>b"),
        ({**TRIGGERED, "triggers": ["<tool_call>"], "tags": [called]}, ""),
    ):
        grammar = qwen_backend.grammar(tag(form))
        mask = set(allowed(grammar))
        assert (ids["<think>"] in mask) is ("exclude_tokens" not in form)
        assert {ids["<tool_call>"], tokenizer.eos_id} <= mask
        assert not {ids["<|im_start|>"], ids["<|vision_start|>"]} & mask
        assert is_answer(grammar, tokenizer, tokenizer.encode(answer))
    # A literal's tags in GBNF are the tokens that the model writes, not their letters.
    grammar = qwen_backend.grammar(Constraint.ebnf('root ::= "<think>\\n" [a-z]+ "</think>"'))
    assert is_answer(grammar, tokenizer, tokenizer.encode("<think>\nab</think>"))
    assert not is_answer(grammar, tokenizer, tokenizer.encode_plain(b"<think>\nab</think>"))


@pytest.mark.slow
@table("added_triggers")
def test_trigger_may_contain_an_added_token(
    trigger: str, end: str, deepseek_backend: GrammarBackend
) -> None:
    begin, wrong = f"{trigger} f>", f"{trigger} g>"
    tokenizer = deepseek_backend.tokenizer
    form = {**TRIGGERED, "triggers": [trigger], "tags": [{**SHORT, "begin": begin, "end": end}]}
    grammar = deepseek_backend.grammar(tag(form))
    assert is_answer(grammar, tokenizer, tokenizer.encode(f"text {begin}1{end} and call"))
    for bad in (f"text {wrong}", f'text {begin}"y"'):
        assert not takes(grammar, tokenizer.encode(bad))
        grammar.reset()
