"""Text as signs and stretches: the same texts as by any other reading, and quicker masks."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from llguidance import LLMatcher

from autoparser.analysis.core.text_format import EdgeStrip
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    FreeProse,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    ProseExit,
)
from autoparser.analysis.grammar.lark_writer import write_lark
from autoparser.analysis.grammar.request_grammar import format_slices
from autoparser.analysis.grammar.string_shape import StringShape
from autoparser.analysis.grammar.text_stretches import signs_of, slices_of, text_until
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.lanes import sampled

from .offers import STRICT
from .tokens import byte_tokenizer, guidance, ids

ALL_TEXT = OpaqueTokens()
FREE = FreeProse(("</a>",), may_be_empty=True)


def matcher_of(rules: GrammarRules, slices: Sequence[str] = ()) -> LLMatcher:
    loaded = guidance().with_slices(list(slices)) if slices else guidance()
    text = LLMatcher.grammar_from_lark(write_lark(rules, ALL_TEXT).text)
    made = LLMatcher(loaded, text, log_level=0)
    assert not made.is_error(), made.get_error()
    return made


def done_by(start: LLMatcher, refused: str) -> dict[str, int]:
    """Return what a matcher has done, which it tells once it is over."""
    start.consume_tokens(ids(byte_tokenizer(), refused))
    told = re.search(r"Parser: (\{.*?\n\})", start.get_error(), re.DOTALL)
    assert told is not None
    done: dict[str, int] = json.loads(told[1])
    return done


def accepts(start: LLMatcher, text: str) -> bool:
    found = start.deep_copy()
    tokens = ids(byte_tokenizer(), text)
    whole = found.validate_tokens(tokens) == len(tokens)
    return whole and found.consume_tokens(tokens) and found.is_accepting()


def closed_well(text: str, close: str, kept_out: Sequence[str], *, may_be_empty: bool) -> bool:
    """Say by searching alone whether a text ends with its first close, and holds nothing else."""
    at = text.find(close)
    if at < 0 or at + len(close) != len(text) or (not at and not may_be_empty):
        return False
    # What is kept out may stand in the close, where it ends no sooner than that.
    return all(not 0 <= text.find(each) <= len(text) - len(each) - 1 for each in kept_out)


@pytest.mark.parametrize(
    ("close", "kept_out", "may_be_empty"),
    sampled(
        [
            ("</a>", ("</a>", "<b="), True),
            ("\n</a>", ("</a>", "<b=", "</c>"), True),
            ("</a>", ("<a>", "</a>"), False),
            ("]<]v[>[</", ("]<]v[>[</", "</b>"), True),
            ("<<a>", ("<b>",), True),
            ("||", ("<b>",), True),
            ("</a>", ("<b=", "<c|", "</c=", "</b]"), True),
            ("[c=[", ("<a=>", "a>v="), True),
            ("<ab>v", ("<ab>b", "|>v|"), True),
        ],
        3,
    ),
)
def test_the_texts_are_those_that_a_search_finds(
    close: str, kept_out: tuple[str, ...], may_be_empty: bool
) -> None:
    prose = FreeProse(kept_out, may_be_empty=may_be_empty)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, close, NOTHING),)), {})
    start = matcher_of(rules, write_lark(rules, ALL_TEXT).slices)
    assert "lazy" not in write_lark(rules, ALL_TEXT).text
    rng = random.Random(7)
    pieces = [*"<>/=[]|abcv\n", *kept_out, close, close[:-1], close[1:], *kept_out]
    seen = {True: 0, False: 0}
    for _ in range(300):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(7))) + close
        expected = closed_well(text, close, kept_out, may_be_empty=may_be_empty)
        seen[expected] += 1
        assert accepts(start, text) is expected, text
    assert min(seen.values()) > 20


@pytest.mark.parametrize(
    ("close", "kept_out", "least", "most"),
    sampled(
        [
            ("</a>", ("</a>", "<b="), 0, 9),
            ("\n</a>", ("</a>", "<b=", "</c>"), 2, 9),
            ("]<]v[>[</", ("]<]v[>[</", "</b>"), 0, 14),
            ("</a>", ("</a>",), 3, None),
            # A text that may begin within itself, one without a sign, and one that is not kept out.
            ("||", ("||", "<b>"), 0, 5),
            ("end", ("end", "<b>"), 0, 5),
            ("</a>", ("<b>",), 0, 6),
        ],
        3,
    ),
)
def test_texts_of_bounded_length_are_those_that_a_search_finds(
    close: str, kept_out: tuple[str, ...], least: int, most: int | None
) -> None:
    prose = FreeProse(kept_out, may_be_empty=True, shape=StringShape(least=least, most=most))
    rules = GrammarRules(FreeTextNode((ProseExit(prose, close, NOTHING),)), {})
    start = matcher_of(rules, slices_of(">|"))
    rng = random.Random(7)
    pieces = [*"<>/=[]|abcv\n", *kept_out, close, close[:-1], close[1:]]
    seen = {True: 0, False: 0}
    for _ in range(300):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(9))) + close
        long = len(text) - len(close)
        expected = closed_well(text, close, kept_out, may_be_empty=True)
        expected = expected and least <= long and (most is None or long <= most)
        seen[expected] += 1
        assert accepts(start, text) is expected, text
    assert min(seen.values()) > 20


def test_a_mask_in_a_text_of_bounded_length_finds_a_slice_up_to_the_first_sign() -> None:
    prose = FreeProse(("</a>",), may_be_empty=True, shape=StringShape(most=100))
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "</a>", NOTHING),)), {})
    # Those of the same text without bounds, since the slices are those of the format.
    slices = write_lark(
        replace(rules, root=FreeTextNode((ProseExit(FREE, "</a>", NOTHING),))), ALL_TEXT
    )
    start = matcher_of(rules, slices.slices)
    text = "a word"
    for token in ids(byte_tokenizer(), text):
        start.compute_logit_bias()
        assert start.consume_token(token)
    assert done_by(start, "</a>\n")["slices_applied"] == len(text)


def test_a_text_may_begin_with_the_single_sign_that_closes_it() -> None:
    rules = GrammarRules(FreeTextNode((ProseExit(FreeProse(), "\n", NOTHING),)), {})
    start = matcher_of(rules)
    assert accepts(start, "\nx\n")
    assert not accepts(start, "\n")


def test_two_closes_and_an_end_are_told_apart() -> None:
    prose = FreeProse(("<call>", "<end>"))
    exits = (
        ProseExit(prose, "", NOTHING),
        ProseExit(prose, "<end>", LiteralNode("\n")),
        ProseExit(prose, "\n<call>", LiteralNode("f")),
        ProseExit(None, "<call>", LiteralNode("g")),
    )
    start = matcher_of(GrammarRules(FreeTextNode(exits), {}))
    taken = {"x", "x<e", "x<end>\n", "x\n<call>f", "<call>g", "\n\n<call>f", "<call"}
    refused = {"", "x<end>", "x<call>f", "\n<call>f", "x\n<call>g", "<end>\n", "x<end>y"}
    assert {text for text in taken | refused if accepts(start, text)} == taken


def test_a_mark_without_text_is_not_lost_in_a_run_of_text() -> None:
    prose = FreeProse(("<end>",))
    exits = (ProseExit(prose, "<end>", NOTHING), ProseExit(None, "<call>", LiteralNode("g")))
    start = matcher_of(GrammarRules(FreeTextNode(exits), {}))
    assert accepts(start, "<call>g")
    assert accepts(start, "a <b>, b<end>")
    assert not accepts(start, "<call>")


def test_what_is_kept_out_adds_no_state_where_a_sign_ends_it() -> None:
    words = [f"<w{at}>" for at in range(9)]
    one, nine = (text_until([("</a>",)], words[:upto], ">") for upto in (1, 9))
    assert (len(one.steps), len(nine.steps)) == (1, 1)


def test_a_rare_sign_far_in_a_text_stands_for_a_usual_one_at_its_end() -> None:
    assert signs_of([("<e~(",)], []) == "~"
    found = text_until([("<e~(",)], [], "~", may_be_empty=True)
    assert found.signs == {0: "~", 1: "(~"}


def test_a_mask_looks_at_the_tokens_with_a_sign_alone() -> None:
    signs = "=>|"
    prose = FreeProse(("</a>", "<b=", "<c|"), may_be_empty=True)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "</a>", NOTHING),)), {})
    start = matcher_of(rules, write_lark(rules, ALL_TEXT).slices)
    for token in ids(byte_tokenizer(), "x < y > z = <d> </e> <b/b </a"):
        start.compute_logit_bias()
        assert start.consume_token(token)
    done = done_by(start, ">\n")
    other = sum(char in signs or not char.isascii() for char in map(chr, range(256)))
    its_ends = 2
    assert done["slices_applied"] > 10
    assert done["trie_nodes_walked"] <= done["slices_applied"] * (other + its_ends)


def test_the_first_mask_of_a_text_whose_whitespace_is_stripped_finds_a_slice() -> None:
    prose = FreeProse(left=EdgeStrip.WHITESPACE, right=EdgeStrip.WHITESPACE)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "", NOTHING),)), {})
    # Beside a text that is closed by a sign, since slices are made where there is one.
    slices = replace(write_lark(rules, ALL_TEXT), signs=(">",)).slices
    start = matcher_of(rules, slices)
    start.compute_logit_bias()
    assert done_by(start, " ")["slices_applied"] == 1


@pytest.mark.parametrize("text", ["ends", "</a b", "<a "])
def test_a_sign_is_one_that_few_tokens_hold(text: str) -> None:
    assert signs_of([("</x>",)], [text]) is None


def test_a_text_before_a_token_needs_no_sign_unless_it_closes_by_itself() -> None:
    assert signs_of([("ends", 7), ("</x>",)], []) == ">"
    assert signs_of([("</x>",), ("</x>", 7)], []) == ">"
    assert signs_of([("ends", 7), ("</x>",)], ["ends"]) is None


def test_a_mark_is_cut_where_stretches_of_the_text_would_end() -> None:
    marks = text_until([("[e~[",)], ["<a>"], ">~", marks=["<a>[e~[>"]).marks
    assert marks == {"<a>[e~[>": ["<a>", "[e~", "[", ">"]}


@pytest.mark.parametrize("name", sampled(["a1-function-parameter", "a4-type-flags"], 2))
def test_slices_change_no_mask(name: str) -> None:
    analysis = analysis_of(name)
    made = analysis.grammar(STRICT)
    slices = format_slices(analysis.formats, ALL_TEXT)
    assert slices == made.slices(ALL_TEXT)
    text = LLMatcher.grammar_from_lark(made.lark(ALL_TEXT))
    usual = LLMatcher(guidance(), text, log_level=0)
    sliced = LLMatcher(guidance().with_slices(list(slices)), text, log_level=0)
    begun = "Look < there, <b>now</b>.\n"
    allowed = 0
    for token in ids(byte_tokenizer(), begun):
        mask = usual.compute_logit_bias()
        assert mask == sliced.compute_logit_bias()
        allowed += sum(map(bool, mask))
        if not mask[token]:
            break
        assert usual.consume_token(token)
        assert sliced.consume_token(token)
    assert allowed > 0


def test_a_format_whose_markers_are_tokens_needs_no_slices() -> None:
    markers = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>")
    opaque = tokenizer_of(byte_tokenizer(markers)).opaque
    assert format_slices(analysis_of("j1-json-in-tags").formats, opaque) == ()
    assert format_slices(Formats.of(analysis_of("a1-function-parameter").format), opaque)
