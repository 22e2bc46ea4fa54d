"""Check what xgrammar reads: structural tags, markers with their own tokens, and EBNF."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.decoding.answer_judge import closing_texts
from autoparser.analysis.decoding.mask_sampling import RandomSampler, WaitingAnswer
from autoparser.analysis.decoding.matcher_grammar import mask_row, row_words
from autoparser.analysis.grammar.excluded_texts import exclusion_states
from autoparser.analysis.grammar.grammar_rules import (
    FreeProse,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    ProseExit,
)
from autoparser.analysis.grammar.structural_tag import write_ebnf
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.corpus.grammar_readers import EngineTokens, read_by_xgrammar, vocabulary_of
from tests.lanes import sampled
from tests.offers import tool
from tests.real_vocabularies import qwen_without_special

from .judge import EOS
from .proofs import written_call

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
CITY_TOOLS = [
    tool("get_weather", {"city": STRING, "unit": {"enum": ["C", "F"]}}, "city"),
    tool("search", {"query": STRING, "limit": {"type": "integer"}}, "query"),
    tool("write_file", FILE, "path", "text"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTATIONS)
def test_shared_tool_parts_are_written_once(name: str) -> None:
    """Each further tool of the same parameters adds its name and its own rules, no text."""
    for choice in ("auto", "required"):
        tag = analysis_of(name).grammar(CITY_TOOLS, tool_choice=choice).structural_tag()
        assert len(json.dumps(tag)) < 10_000
    alike = [tool(f"save_{at}", {"text": STRING, "title": STRING}, "text") for at in range(24)]
    few, some, many = (
        len(json.dumps(analysis_of(name).grammar(alike[:count]).structural_tag()))
        for count in (8, 16, 24)
    )
    assert many - some < 2 * 8 * 400
    assert abs((many - some) - (some - few)) < 200


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1-function-parameter", "a2-key-value-tags", "j1-json-in-tags"])
def test_xgrammar_walks_end_in_a_real_vocabulary(name: str) -> None:
    xgrammar: Any = importlib.import_module("xgrammar")
    grammar = analysis_of(name).grammar(CITY_TOOLS, tool_choice="required")
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


@pytest.mark.slow
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


def test_lengths_of_escaped_strings_are_loosened_in_a_tag() -> None:
    """A tag drops the lengths: xgrammar would take 1 s for each mask."""
    analysis = analysis_of("p1-2-python-list")
    written: list[str] = []
    for most in (40, 4000):
        pattern = f"^[a-z '-]{{2,{most}}}$"
        bounded: dict[str, Json] = {
            "a": {"type": "string", "maxLength": most},
            "b": {"type": "string", "pattern": pattern},
        }
        saved = tool(
            "save",
            {"list": {"type": "array", "items": {"type": "object", "properties": bounded}}},
            "list",
        )
        grammar = analysis.grammar([saved], tool_choice="required")
        pointers = {loosening.pointer for loosening in grammar.loosened("structural_tag")}
        items = "#/properties/list/items/properties"
        assert pointers == {f"{items}/a/maxLength", f"{items}/b/pattern"}
        written.append(json.dumps(grammar.structural_tag()))
        accepts = read_by_xgrammar(grammar.structural_tag())
        for text, is_valid in (("a b", True), ("it's", True), ("A", False)):
            values: dict[str, Json] = {"list": [{"a": "it's 3", "b": text}]}
            call = analysis.format.write(Message("", calls=(ToolCall("save", values),)))
            call = call[call.index("[save(") :].removesuffix("<|im_end|>\n")
            found = any(accepts(f"{before}{call}") for before in ("", "<|tool_call_start|>"))
            assert found is is_valid, call
    assert written[0] == written[1]


def test_pattern_before_several_closes_is_written_once() -> None:
    """Each copy of the pattern of a URI takes xgrammar some 450 states."""
    page: Json = {"type": "string", "format": "uri"}
    analysis = analysis_of("g1-pseudo-json")
    once, often = (
        analysis.grammar([tool("get", properties)], tool_choice="required").structural_tag()
        for properties in (
            {"a": page},
            {"a": page, "b": page, "c": {"type": "array", "items": page}},
        )
    )
    assert json.dumps(once).count("nrest") == json.dumps(often).count("nrest") > 100
    accepts = read_by_xgrammar(often)
    for last, is_valid in (("b:c/d", True), ("b", False)):
        values: dict[str, Json] = {"a": "x:y", "b": "x://y?z", "c": ["x:y", last]}
        call = analysis.format.write(Message("", calls=(ToolCall("get", values),)))
        call = call[call.index("<|tool_call>") :]
        taken = [size for size in range(len(call) + 1) if accepts(call[:size])]
        assert bool(taken) is is_valid, call


BOOK_TOOL = (tool("book", {"room": {"type": "string"}, "days": {"type": "integer"}}, "room"),)
STRICT = ({**BOOK_TOOL[0], "function": {**BOOK_TOOL[0]["function"], "strict": True}},)
REQUESTS: dict[str, dict[str, Any]] = {
    "required": {"tools": BOOK_TOOL, "tool_choice": "required"},
    "strict": {"tools": STRICT},
}
FORMATS = {
    "j1-json-in-tags": "<tool_call>",
    "a1-function-parameter": "<tool_call>",
    "a7-token-pairs": "<|tool_call:start|>",
    "j3-4-tagged-array": "<tool_calls>",
    "reasoning-delimiter": "<|use|>",
}


def written(name: str) -> str:
    """Return the turn of a call without its end."""
    found = written_call(
        analysis_of(name), BOOK_TOOL, ToolCall("book", {"room": "blue", "days": 3})
    )
    assert found is not None
    return found[1]


@pytest.mark.parametrize("asked", REQUESTS)
@pytest.mark.parametrize("name", FORMATS)
def test_tag_accepts_the_marker_token_and_masks_its_spelling(name: str, asked: str) -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(name).grammar(**REQUESTS[asked])
    engine = EngineTokens((EOS, *grammar.preserved_tokens), [EOS])
    tag, text = grammar.structural_tag(engine.tokenizer), written(name)
    for tag_ in (tag, grammar.structural_tag()):
        assert engine.masked(tag_, text + EOS) == ""
    assert engine.taken(grammar.structural_tag(), text + EOS, FORMATS[name])
    # If the model may choose, a spelled marker is text.
    assert engine.taken(tag, text + EOS, FORMATS[name]) is (asked == "strict")


def test_trigger_is_a_token_if_the_tokenizer_has_one() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    engine = EngineTokens((EOS, "<tool_call>"), [EOS])
    number = engine.tokenizer.hf.token_to_id("<tool_call>")
    with_ids = json.dumps(grammar.structural_tag(engine.tokenizer))
    assert f'"trigger_tokens": [{number}]' in with_ids
    assert '"triggers": ["<tool_call>"]' in json.dumps(grammar.structural_tag())
    # A tokenizer that has no marker changes nothing.
    assert grammar.structural_tag(EngineTokens([EOS], [EOS]).tokenizer) == grammar.structural_tag()


def test_gbnf_writes_token_ids_unless_the_grammar_is_lazy() -> None:
    analysis = analysis_of("j1-json-in-tags")
    engine = EngineTokens((EOS, "<tool_call>"), [EOS])
    number = engine.tokenizer.hf.token_to_id("<tool_call>")
    grammar = analysis.grammar(BOOK_TOOL, tool_choice="required")
    assert f"<[{number}]>" in grammar.gbnf(engine.tokenizer)
    assert f"<[{number}]>" not in grammar.gbnf()
    lazy = analysis.grammar(BOOK_TOOL, lazy=True)
    assert lazy.gbnf(engine.tokenizer) == lazy.gbnf()


TOOLS = (
    tool("book", {"room": {"type": "string"}, "days": {"type": "integer"}}, "room"),
    tool("find", {"words": {"type": "array", "items": {"type": "string"}}}),
)
CALLS = (
    ToolCall("book", {"room": 'a "b" <c> & \\ d\nthe second line', "days": 3}, "abcDEF123"),
    ToolCall("book", {"room": "Größe 日本"}, "abcDEF123"),
)


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", sampled(fixture_names(), 12))
def test_ebnf_accepts_template_output(name: str, choice: str) -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    matcher_of = importlib.import_module("xgrammar.testing")._get_matcher_from_grammar
    analysis = analysis_of(name)
    for prompt, text in filter(None, (written_call(analysis, TOOLS, call) for call in CALLS)):
        grammar = analysis.grammar(TOOLS, tool_choice=choice, prompt=prompt)
        loaded = xgrammar.Grammar.from_ebnf(grammar.ebnf())
        matcher = matcher_of(loaded)
        assert matcher.accept_string(text), text
        assert matcher.is_terminated()
        other = matcher_of(loaded)
        taken = other.accept_string(text.replace("book", "cook")) and other.is_terminated()
        assert not (choice == "required" and taken)


def test_text_up_to_a_section_that_opens_like_its_calls_needs_no_states_in_ebnf() -> None:
    """Each state of a text costs xgrammar 100 ms to compile, and a close has up to fifty."""
    close, opened = "]<x>[<calls>\n]<x>[<call name=", "]<x>[<calls>\n]<x>["
    prose = FreeProse(("<y>", opened, "<call name="), may_be_empty=True)
    root = FreeTextNode((ProseExit(prose, close, LiteralNode("f")),))
    written = write_ebnf(GrammarRules(root, {}), exact=True)
    assert len(written.splitlines()) == 2
    accepts = importlib.import_module("xgrammar.testing")._is_grammar_accept_string
    for text in ("", "a <calls>\n", "]<x>[<calls>", "]<x>["):
        assert accepts(written, f"{text}{close}f"), text
    for text in ("<y>", opened, close, opened.removesuffix("]<x>[")):
        assert not accepts(written, f"{text}{close}f"), text


def test_words_before_the_name_in_an_id_are_written_once_for_all_tools() -> None:
    """Each tool's own took 230 us a mask for 50 tools, and 5 ms to compile."""
    offered = [tool(f"save_{at}", {"text": STRING}, "text") for at in range(20)]
    grammar = analysis_of("t5-id-carries-name").grammar(offered, tool_choice="required")
    for text in (grammar.ebnf(), json.dumps(grammar.structural_tag())):
        assert text.count("[0-9A-Z_a-z]*") == 1
    (call,) = re.findall(r"call ::= id \((.*)\)\n", grammar.ebnf())
    assert call.count(" | ") == len(offered) - 1


def test_texts_that_go_on_past_a_close_need_no_states() -> None:
    kept_out = [f">>>tool_{at}" for at in range(50)]
    assert len(exclusion_states([">>>"], kept_out)) == len(">>>")


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_ebnf_with_free_text_stays_under_5000_characters(name: str) -> None:
    grammar = analysis_of(name).grammar(TOOLS, tool_choice="required")
    assert len(grammar.ebnf()) < 5_000
    # A repetition of one character costs 100 ms a mask within JSON strings.
    assert not re.search(r"\w+ ::= .*\b(char|character)\*", grammar.ebnf())
    assert grammar.loosened("ebnf") == ()
