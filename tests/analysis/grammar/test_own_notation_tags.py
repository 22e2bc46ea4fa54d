"""Check structural tags of calls in own notations: one small grammar that xgrammar reads."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.decoding.answer_judge import closing_texts
from autoparser.analysis.decoding.mask_sampling import RandomSampler, WaitingAnswer
from autoparser.analysis.decoding.matcher_grammar import mask_row, row_words
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.corpus.grammar_readers import read_by_xgrammar, vocabulary_of
from tests.offers import tool
from tests.real_vocabularies import qwen_without_special

pytestmark = pytest.mark.slow

NOTATIONS = (
    "a1-function-parameter", "a2-key-value-tags", "a3-invoke-parameter", "a4-type-flags",
    "a6-key-is-tag", "a7-2-typed-arguments", "g1-pseudo-json", "p1-2-python-list",
)  # fmt: skip
STRING: Json = {"type": "string"}


@pytest.fixture(autouse=True, scope="module")
def _xgrammar() -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")


FILE: dict[str, Json] = {
    "path": STRING,
    "text": STRING,
    "append": {"type": "boolean"},
    "mode": {"type": "integer"},
    "tags": {"type": "array", "items": STRING},
}
TOOLS = [
    tool("get_weather", {"city": STRING, "unit": {"enum": ["C", "F"]}}, "city"),
    tool("search", {"query": STRING, "limit": {"type": "integer"}}, "query"),
    tool("write_file", FILE, "path", "text"),
]


@pytest.mark.parametrize("name", NOTATIONS)
def test_shared_tool_parts_are_written_once(name: str) -> None:
    """Each further tool of the same parameters adds its name and its own rules, no text."""
    for choice in ("auto", "required"):
        tag = analysis_of(name).grammar(TOOLS, tool_choice=choice).structural_tag()
        assert len(json.dumps(tag)) < 10_000
    alike = [tool(f"save_{at}", {"text": STRING, "title": STRING}, "text") for at in range(24)]
    few, some, many = (
        len(json.dumps(analysis_of(name).grammar(alike[:count]).structural_tag()))
        for count in (8, 16, 24)
    )
    assert many - some < 2 * 8 * 400
    assert abs((many - some) - (some - few)) < 200


def test_nonempty_text_may_begin_like_its_closer() -> None:
    saved = tool("save", {"text": {"type": "string", "minLength": 1}}, "text")
    format_ = analysis_of("a1-function-parameter")
    grammar = format_.grammar([saved], tool_choice="required", loosen=False)
    (left_out,) = format_.grammar([saved]).loosened("structural_tag")
    assert left_out.pointer == "#/properties/text/minLength"
    accepts = read_by_xgrammar(grammar.structural_tag())
    for text, accepted in (
        ("", False),
        ("<", True),
        ("</paramete", True),
        ("\n<b", True),
        ("a</function>", False),
    ):
        call = f"<function=save>\n<parameter=text>\n{text}\n</parameter>\n</function>"
        assert accepts(f"\n</think>\n\n<tool_call>\n{call}\n</tool_call>") is accepted, text


WALKS = 6


@pytest.mark.parametrize("name", ["a1-function-parameter", "a2-key-value-tags", "j1-json-in-tags"])
def test_xgrammar_walks_end_in_a_real_vocabulary(name: str) -> None:
    xgrammar: Any = importlib.import_module("xgrammar")
    grammar = analysis_of(name).grammar(TOOLS, tool_choice="required")
    vocabulary = qwen_without_special()
    vocabulary.add_special_tokens([*grammar.stop_strings])
    vocabulary.add_tokens([*grammar.preserved_tokens])
    tokenizer = tokenizer_of(vocabulary, eos=grammar.stop_strings)
    compiled = xgrammar.GrammarCompiler(
        vocabulary_of(tokenizer), max_threads=1
    ).compile_structural_tag(json.dumps(grammar.structural_tag()))
    calls = grammar.turn.strict.calls
    assert calls is not None
    closers = (*closing_texts(grammar.rules(tokenizer.opaque), calls), calls.section_close)
    for seed in range(WALKS):
        sampler = RandomSampler(tokenizer, seed, ending=0.5, closing=0.5, closers=closers)
        matcher, tokens = xgrammar.GrammarMatcher(compiled), list[int]()
        mask = xgrammar.allocate_token_bitmask(1, tokenizer.vocab_size)
        while not matcher.is_terminated():
            matcher.fill_next_token_bitmask(mask)
            row = mask_row(mask, 0)
            assert any(row_words(row)), f"nothing is allowed after {tokenizer.decode(tokens)!r}"
            (token,) = sampler.choose([WaitingAnswer(0, tokens, row)], memoryview(b""))
            assert matcher.accept_token(token)
            tokens.append(token)
            assert len(tokens) < 3000, tokenizer.decode(tokens[-200:])
        message = grammar.parser().parse(tokenizer.decode(tokens))
        assert message.status.regular, message
        assert message.tool_calls


@pytest.mark.parametrize("name", ["a1-function-parameter", "j1-json-in-tags"])
def test_counted_letters_in_a_pattern_are_loosened_unless_strict(name: str) -> None:
    """Each counted letter takes xgrammar milliseconds; the rest of the pattern still holds."""
    pattern = r"^[a-z][a-z\d-]{0,61}:[0-9A-F]{20}\.$"
    saved = tool("save", {"host": {"type": "string", "pattern": pattern}}, "host")
    analysis = analysis_of(name)
    loose = analysis.grammar([saved], tool_choice="required")
    (left_out,) = loose.loosened("structural_tag")
    assert left_out.pointer == "#/properties/host/pattern"
    exact = analysis.grammar([saved], tool_choice="required", loosen=False)
    assert "{0,61}" in json.dumps(exact.structural_tag())
    host, rest = "a" * 63, ":" + "0A" * 10 + "."
    for text, accepted in ((host[:9] + rest, True), (host + rest, None), (host, False)):
        call = analysis.format.write(Message("", calls=(ToolCall("save", {"host": text}),)))
        call = call[call.index("<tool_call>") :].removesuffix("<|im_end|>\n")
        for grammar, expected in ((loose, accepted is not False), (exact, accepted is True)):
            accepts = read_by_xgrammar(grammar.structural_tag())
            found = any(accepts(f"{before}{call}") for before in ("", "\n</think>\n\n", "\n\n"))
            assert found is expected, (text, grammar is loose)
