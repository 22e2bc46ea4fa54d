"""Check free text split at signs: the same texts as by a search, and faster masks."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from llguidance import LLMatcher
from msgspec import structs

from autoparser.analysis.core.call_notation import NamingId
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.grammar.call_writer import GrammarError, id_pattern
from autoparser.analysis.grammar.gbnf_writer import SchemaTable, write_gbnf
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    FreeProse,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    ProseExit,
    RuleReference,
    SequenceNode,
    choice_node,
)
from autoparser.analysis.grammar.lark_writer import write_lark
from autoparser.analysis.grammar.member_rows import as_node
from autoparser.analysis.grammar.request_grammar import format_slices
from autoparser.analysis.grammar.string_shape import StringShape
from autoparser.analysis.grammar.string_ways import key_path, string_ways
from autoparser.analysis.grammar.text_stretches import vocabulary_slices
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.case_tables import load_cases
from tests.lanes import sampled
from tests.offers import STRICT, tool

from .judge import Judge, byte_tokenizer, done_by, guidance, ids

ALL_TEXT = OpaqueTokens()
FREE = FreeProse(("</a>",), may_be_empty=True)


def matcher_of(rules: GrammarRules, slices: Sequence[str] = (), *, exact: bool = True) -> LLMatcher:
    loaded = guidance().with_slices(list(slices)) if slices else guidance()
    text = LLMatcher.grammar_from_lark(write_lark(rules, ALL_TEXT, exact=exact).text)
    made = LLMatcher(loaded, text, log_level=0)
    assert not made.is_error(), made.get_error()
    return made


def accepts(start: LLMatcher, text: str) -> bool:
    found = start.deep_copy()
    tokens = ids(byte_tokenizer(), text)
    whole = found.validate_tokens(tokens) == len(tokens)
    return whole and found.consume_tokens(tokens) and found.is_accepting()


def closed_well(text: str, close: str, kept_out: Sequence[str], *, may_be_empty: bool) -> bool:
    """Return, by searching alone, whether a text ends with its first closer."""
    at = text.find(close)
    if at < 0 or at + len(close) != len(text) or (not at and not may_be_empty):
        return False
    # A closer may contain an excluded text that ends where the closer ends.
    return all(not 0 <= text.find(word) <= len(text) - len(word) - 1 for word in kept_out)


def read_by_llguidance(rules: GrammarRules, form: str) -> Callable[[str], bool]:
    """Read rules in Lark with the slices of their format, or in GBNF."""
    if form == "gbnf":
        written = write_gbnf(rules, SchemaTable()).splitlines()
        # The stricter reader does not support comments.
        return Judge("".join(f"{line}\n" for line in written if line[:1] not in {"", "#"})).accepts
    made = write_lark(rules, ALL_TEXT)
    start = matcher_of(rules, made.slices or vocabulary_slices(">|"))
    return lambda text: accepts(start, text)


TEXTS: list[dict[str, Any]] = load_cases(__file__, "free_texts.yaml")


@pytest.mark.parametrize("form", ["lark", "gbnf"])
@pytest.mark.parametrize("case", sampled(TEXTS, 3), ids=lambda case: case["name"])
def test_free_text_regex_agrees_with_a_search(case: dict[str, Any], form: str) -> None:
    close, kept_out = case["close"], case["kept_out"]
    may_be_empty: bool = case.get("may_be_empty", True)
    least: int = case.get("least", 0)
    most: int | None = case.get("most")
    shape = StringShape(least=least, most=most) if least or most else None
    if form == "gbnf" and (shape is not None or not may_be_empty):
        return
    prose = FreeProse(tuple(kept_out), may_be_empty=may_be_empty, shape=shape)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, close, NOTHING),)), {})
    read = read_by_llguidance(rules, form)
    rng = random.Random(7)
    pieces = [*"<>/=[]|abcv\n", *kept_out, close, close[:-1], close[1:], *kept_out]
    seen = {True: 0, False: 0}
    for _ in range(300):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(8))) + close
        long = len(text) - len(close)
        expected = closed_well(text, close, kept_out, may_be_empty=may_be_empty)
        expected = expected and least <= long and (most is None or long <= most)
        seen[expected] += 1
        assert read(text) is expected, text
    assert min(seen.values()) > 20


def exits(excluded: Sequence[str], *closes: str) -> tuple[ProseExit, ...]:
    return tuple(ProseExit(FreeProse(tuple(excluded)), close, NOTHING) for close in closes)


@pytest.mark.parametrize(
    ("form", "exits", "taken", "refused"),
    [
        # A closer may contain an excluded text.
        (
            "gbnf",
            exits(["<c>", "<f>"], "\n<c>x", "</e>"),
            ["ab\n\n<c>x", "ab</e>"],
            ["ab\n<d", "ab<c>x"],
        ),
        # Many prefixes of the closer come before it.
        ("gbnf", exits([], "<a>"), ["Some words < others. " * 200 + "<a>"], []),
        # Two closers and an end are distinguished.
        (
            "lark",
            (
                *exits(["<call>", "<end>"], ""),
                ProseExit(FreeProse(("<call>", "<end>")), "<end>", LiteralNode("\n")),
                ProseExit(FreeProse(("<call>", "<end>")), "\n<call>", LiteralNode("f")),
                ProseExit(None, "<call>", LiteralNode("g")),
            ),
            ["x", "x<e", "x<end>\n", "x\n<call>f", "<call>g", "\n\n<call>f", "<call"],
            ["", "x<end>", "x<call>f", "\n<call>f", "x\n<call>g", "<end>\n", "x<end>y"],
        ),
    ],
)
def test_free_texts_end_only_at_their_closers(
    form: str, exits: tuple[ProseExit, ...], taken: list[str], refused: list[str]
) -> None:
    read = read_by_llguidance(GrammarRules(FreeTextNode(exits), {}), form)
    assert [text for text in taken + refused if read(text)] == taken


def test_closer_of_1500_characters_is_refused_in_gbnf() -> None:
    rules = GrammarRules(FreeTextNode(exits([], "Pages of text. " * 100)), {})
    with pytest.raises(GrammarError, match="1500 characters"):
        write_gbnf(rules, SchemaTable())


def test_bounded_text_masks_use_a_slice_up_to_the_first_sign() -> None:
    prose = FreeProse(("</a>",), may_be_empty=True, shape=StringShape(most=100))
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "</a>", NOTHING),)), {})
    # The same as without bounds, since the slices depend on the format.
    slices = write_lark(
        replace(rules, root=FreeTextNode((ProseExit(FREE, "</a>", NOTHING),))), ALL_TEXT
    )
    start = matcher_of(rules, slices.slices)
    text = "a word"
    for token in ids(byte_tokenizer(), text):
        start.compute_logit_bias()
        assert start.consume_token(token)
    assert done_by(start, ids(byte_tokenizer(), "</a>\n"))["slices_applied"] == len(text)


IN_PART = FreeProse(("</a>", "<b="), may_be_empty=True, shape=StringShape(least=2, most=6))
"""A text whose characters are counted anew from each `=` or `>` on."""


def test_partly_enforced_length_counts_characters_between_signs() -> None:
    rules = GrammarRules(FreeTextNode((ProseExit(IN_PART, "</a>", NOTHING),)), {})
    start = matcher_of(rules, write_lark(rules, ALL_TEXT, exact=False).slices, exact=False)
    rng = random.Random(7)
    pieces = ["<", ">", "/", "a", "b", "=", "é\n", "</a", "/a>", "</a>", "<b=", "abcdef"]
    seen: dict[tuple[bool, bool], int] = {}
    for _ in range(2000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(5)))
        first, *others = re.split("[=>]", text)
        # With a sign, a stretch has one character more; the closer is none of the text.
        long = len(first) <= 6 - bool(others) and all(
            len(run) <= 6 - (at < len(others)) for at, run in enumerate(others, 1)
        )
        expected = long and (bool(others) or len(first) >= 2)
        expected = expected and closed_well(
            f"{text}</a>", "</a>", IN_PART.exclude, may_be_empty=True
        )
        assert accepts(start, f"{text}</a>") is expected, text
        key = expected, bool(others)
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 4
    assert min(seen.values()) > 50


def test_closer_may_contain_a_sign_if_the_length_is_partly_enforced() -> None:
    prose = replace(IN_PART, exclude=("<e~(",))
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "<e~(", NOTHING),)), {})
    start = matcher_of(rules, exact=False)
    seen = {True: 0, False: 0}
    rng = random.Random(7)
    for _ in range(1500):
        text = "".join(rng.choice("<e~(abcdf") for _ in range(rng.randrange(12)))
        if closed_well(f"{text}<e~(", "<e~(", (), may_be_empty=True):
            fits = 2 <= len(text) <= 6
            # A text too short may become long enough behind the sign in the closer.
            if fits or (len(text) > 6 and not set(text) & set("~(")):
                seen[fits] += 1
                assert accepts(start, f"{text}<e~(") is fits, text
    assert min(seen.values()) > 10


@pytest.mark.parametrize("text", ["a > b = c ", "x == y -> z</", "<i>x</i> <b"])
def test_masks_after_signs_of_a_bounded_text_use_slices(text: str) -> None:
    prose = replace(IN_PART, shape=StringShape(most=100))
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "</a>", NOTHING),)), {})
    start = matcher_of(rules, write_lark(rules, ALL_TEXT, exact=False).slices, exact=False)
    for token in ids(byte_tokenizer(), text):
        start.compute_logit_bias()
        assert start.consume_token(token)
    assert done_by(start, ids(byte_tokenizer(), "</a>\n"))["slices_applied"] >= len(text)


def test_mask_checks_only_tokens_with_a_sign() -> None:
    signs = "=>|"
    prose = FreeProse(("</a>", "<b=", "<c|"), may_be_empty=True)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "</a>", NOTHING),)), {})
    start = matcher_of(rules, write_lark(rules, ALL_TEXT).slices)
    for token in ids(byte_tokenizer(), "x < y > z = <d> </e> <b/b </a"):
        start.compute_logit_bias()
        assert start.consume_token(token)
    done = done_by(start, ids(byte_tokenizer(), ">\n"))
    other = sum(char in signs or not char.isascii() for char in map(chr, range(256)))
    its_ends = 2
    assert done["slices_applied"] > 10
    assert done["trie_nodes_walked"] <= done["slices_applied"] * (other + its_ends)


def test_first_mask_of_a_stripped_text_uses_slices() -> None:
    prose = FreeProse(left=EdgeStrip.WHITESPACE, right=EdgeStrip.WHITESPACE)
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "", NOTHING),)), {})
    # Slices are made for texts that a sign closes, so add one.
    slices = structs.replace(write_lark(rules, ALL_TEXT), signs=(">",)).slices
    start = matcher_of(rules, slices)
    start.compute_logit_bias()
    # One of letters that JSON allows as well, one of all but the sign.
    assert done_by(start, ids(byte_tokenizer(), " "))["slices_applied"] == 2


@pytest.mark.parametrize("text", ["x<think>", "x</think>y", "<think>"])
def test_content_refuses_a_marker_spelled_in_ordinary_tokens(text: str) -> None:
    prose = FreeProse(("<think>", "</think>"), left=EdgeStrip.WHITESPACE)
    exits_ = (ProseExit(None, "\n", LiteralNode("x")), ProseExit(prose, "", NOTHING))
    added = ("<think>", "</think>")
    tokenizer = byte_tokenizer(added)
    written = write_lark(GrammarRules(FreeTextNode(exits_), {}), tokenizer_of(tokenizer).opaque)
    loaded = guidance(added).with_slices(list(written.slices))
    start = LLMatcher(loaded, LLMatcher.grammar_from_lark(written.text), log_level=0)
    spelled = [token for char in text for token in ids(tokenizer, char)]
    assert start.try_consume_tokens(spelled) < len(spelled)


def test_masks_of_a_token_closed_text_use_slices_despite_a_newline_exit() -> None:
    prose = FreeProse(("</think>",), left=EdgeStrip.WHITESPACE)
    exits_ = (ProseExit(None, "\n", LiteralNode("x")), ProseExit(prose, "</think>", NOTHING))
    added = ("</think>",)
    written = write_lark(
        GrammarRules(FreeTextNode(exits_), {}), tokenizer_of(byte_tokenizer(added)).opaque
    )
    loaded = guidance(added).with_slices(list(structs.replace(written, signs=(">",)).slices))
    start = LLMatcher(loaded, LLMatcher.grammar_from_lark(written.text), log_level=0)
    for token in ids(byte_tokenizer(added), "Well, if a < b "):
        start.compute_logit_bias()
        assert start.consume_token(token)
    done = done_by(start, [loaded.eos_token])
    # At the beginning not those with whitespace or quotes, and then only parts of characters.
    other = sum(
        char in ' "\\\x7f' or char < " " or not char.isascii() for char in map(chr, range(256))
    )
    assert done["slices_applied"] > 3
    assert done["trie_nodes_walked"] <= done["slices_applied"] * (other + 4)


TOKEN_CLOSED = {
    "stripped": FreeProse(("<a>", "<bab>"), left=EdgeStrip.WHITESPACE, right=EdgeStrip.WHITESPACE),
    "bounded": FreeProse(("<a>", "<bab>"), may_be_empty=True, shape=StringShape(most=12)),
}


def test_masks_after_a_spelled_marker_in_a_bounded_text_use_slices() -> None:
    # Both are tokens, as a text never is.
    prose = FreeProse(("</c>",), may_be_empty=True, shape=StringShape(most=100))
    root = FreeTextNode((ProseExit(prose, "</c>", NOTHING),))
    texts = ["x", "x <", "x > y", "<i>x</i>"]
    assert min(slices_behind(GrammarRules(root, {}), texts, ">")) > 0


@pytest.mark.parametrize("name", TOKEN_CLOSED)
def test_dead_ends_of_excluded_texts_change_no_mask(name: str) -> None:
    added = ("</c>",)
    rules = GrammarRules(FreeTextNode((ProseExit(TOKEN_CLOSED[name], "</c>", NOTHING),)), {})
    written = write_lark(rules, tokenizer_of(byte_tokenizer(added)).opaque)
    plain = re.sub(r" \| OPEN_\w+ NEVER_\w+", "", written.text)
    assert plain != written.text
    loaded = guidance(added).with_slices(list(written.slices))
    asked = random.Random(5)
    compared = 0
    for _ in range(60):
        both = [
            LLMatcher(loaded, LLMatcher.grammar_from_lark(text), log_level=0)
            for text in (written.text, plain)
        ]
        for _ in range(20):
            # The sequences that complete an excluded text come up often.
            text = asked.choice(["<", "a>", "<a", "<bab", "b>", ">", "x", " ", "ab>"])
            for token in ids(byte_tokenizer(added), text):
                masks = [matcher.compute_logit_bias() for matcher in both]
                assert masks[0] == masks[1]
                compared += 1
                if masks[0][token]:
                    assert all(matcher.consume_token(token) for matcher in both)
    assert compared > 1000


def slices_behind(rules: GrammarRules, texts: Sequence[str], signs: str = "") -> list[int]:
    """Return for each text, read from the start, how many slices its next mask applies."""
    added = ("</c>",)
    written = write_lark(rules, tokenizer_of(byte_tokenizer(added)).opaque)
    slices = structs.replace(written, signs=(*written.signs, *signs)).slices
    loaded = guidance(added).with_slices(list(slices))
    found: list[int] = []
    for text in texts:
        start = LLMatcher(loaded, LLMatcher.grammar_from_lark(written.text), log_level=0)
        assert start.consume_tokens(ids(byte_tokenizer(added), text))
        start.compute_logit_bias()
        # Neither the closer of another text nor the end of an unfinished one is allowed.
        refused = ids(byte_tokenizer(added), "</c>") if start.is_accepting() else [loaded.eos_token]
        found.append(done_by(start, refused)["slices_applied"])
    return found


def test_masks_of_a_stripped_text_with_exclusions_use_slices() -> None:
    root = FreeTextNode((ProseExit(TOKEN_CLOSED["stripped"], "</c>", NOTHING),))
    texts = ["", "x", "x < y", "x <b", "x > ", "x >y", "<i>x</i> > y", "<aa>", "1 -> 2a"]
    assert slices_behind(GrammarRules(root, {}), texts) == [1] * len(texts)


def test_masks_of_a_bounded_token_closed_text_use_slices() -> None:
    prose = replace(TOKEN_CLOSED["bounded"], shape=StringShape(most=100))
    root = FreeTextNode((ProseExit(prose, "</c>", NOTHING),))
    assert slices_behind(GrammarRules(root, {}), ["x", "x <", "x <ba y"]) == [1, 1, 1]


def test_masks_after_a_marker_prefix_use_slices() -> None:
    prose = FreeProse(("<call>",), may_be_empty=True, left=EdgeStrip.WHITESPACE)
    exits_ = (ProseExit(None, "<call>f", NOTHING), ProseExit(prose, "", NOTHING))
    rules = GrammarRules(FreeTextNode(exits_), {})
    assert slices_behind(rules, ["x", "<", "<cal", "<cab", "x <cal"]) == [1] * 5
    for text, is_taken in {
        "<call>f": True,
        "<call": True,
        "<call>": False,
        "x<call>f": False,
    }.items():
        assert accepts(matcher_of(rules), text) == is_taken


def test_mask_after_a_bracket_uses_the_slice_of_names() -> None:
    name = as_node(key_path(StringText(), (), ":"))
    values = ["{}", "[]", "1"]
    rows = [SequenceNode((LiteralNode(f"{value},"), RuleReference("next"))) for value in values]
    opened = SequenceNode((LiteralNode("{"), name, LiteralNode("},"), RuleReference("next")))
    for others in ([], [LiteralNode("2")]):
        root = choice_node(*rows, opened, *others)
        rules = GrammarRules(root, {"next": LiteralNode("end")})
        assert slices_behind(rules, ["{", "{a"], ">") == [1, 1]
        assert all(accepts(matcher_of(rules), text) for text in ("{},end", "[],end", "{a b},end"))


def test_masks_of_an_unquoted_text_use_slices_beside_a_list() -> None:
    prose = FreeProse(("<e>", ")", ","), may_be_empty=True)
    exits_ = tuple(ProseExit(prose, close, LiteralNode("x")) for close in (", ", ")"))
    opened = SequenceNode((LiteralNode("["), RuleReference("item"), LiteralNode("], x")))
    rules = GrammarRules(
        FreeTextNode((*exits_, ProseExit(None, "", opened))), {"item": LiteralNode("1, 2")}
    )
    # A text that ends before its closes needs no lazy rule, in which there are no slices.
    assert "[lazy]" not in write_lark(rules, ALL_TEXT).text
    assert all(slices_behind(rules, ["", "x", "-", "- ", "x<", "<i>", "<e"]))
    whole = matcher_of(rules)
    taken = {"a-b, x": True, ")x": True, "<e, x": True, "<e>)x": False, "a, b)x": False}
    for text, is_taken in taken.items():
        assert accepts(whole, text) is is_taken, text


def test_masks_of_an_id_with_a_name_use_slices_whatever_precedes_the_name() -> None:
    patterns = [id_pattern(NamingId(), name, "<a>") for name in ("look_up", "save", "save_all")]
    rules = GrammarRules(
        choice_node(*(SequenceNode((pattern, LiteralNode("<a>"))) for pattern in patterns)), {}
    )
    assert all(slices_behind(rules, ["", "save", "functions", "a_b"], ">"))
    whole = matcher_of(rules)
    for text in ("save", "save_all:0", "functions.save:12", "a_b:look_up/3"):
        assert accepts(whole, f"{text}<a>")
    for text in ("", "functions", "functions.", "saved", "save_", "_save:x"):
        assert not accepts(whole, f"{text}<a>")


@pytest.mark.parametrize("name", ["a6-key-is-tag", "a1-function-parameter", "p1-2-python-list"])
def test_slices_do_not_depend_on_tools(name: str) -> None:
    closed, opened = (
        tool("save", {"text": {"type": "string"}}, "text", **more)
        for more in ({"closed": True}, {})
    )
    opened["function"]["parameters"]["additionalProperties"] = True
    found = [analysis_of(name).grammar([one]).slices(ALL_TEXT) for one in (closed, opened)]
    assert found[0] == found[1]
    assert [slice_ for slice_ in found[0] if "?" in slice_]


PYTHON = StringText(escape=StringEscape.PYTHON)
HTML = StringText("<s>", "</s>", escape=StringEscape.HTML)


@pytest.mark.parametrize("schema", [{}, {"maxLength": 40}], ids=str)
@pytest.mark.parametrize("text", [PYTHON, HTML], ids=["python", "html"])
def test_masks_of_an_escaped_string_use_slices(text: StringText, schema: dict[str, Any]) -> None:
    root = choice_node(*map(as_node, string_ways(text, {"type": "string", **schema}, ())))
    rules = GrammarRules(root, {})
    size = len(text.close or "'")
    begun = [text.write(part)[:-size] for part in ("", "a", "a<b", "it's")]
    assert all(slices_behind(rules, begun, ">"))
    assert [slice_ for slice_ in write_lark(rules, ALL_TEXT).slices if "'" in slice_]
    whole = matcher_of(rules)
    assert all(accepts(whole, text.write(part)) for part in ("", "it's", 'a"', "a" * 40))
    assert accepts(whole, text.write("a" * 41)) is ("maxLength" not in schema)
    assert not accepts(whole, text.write("a")[:-1])


def test_slices_of_a_text_leave_out_its_own_signs_alone() -> None:
    """A letter that is a sign of another text stands in most tokens."""
    slices = vocabulary_slices([">", ">t", "),>"])
    assert r"[^\x{29}\x{2c}\x{3e}]+" in slices


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


def test_format_with_token_markers_needs_no_slices() -> None:
    markers = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>")
    opaque = tokenizer_of(byte_tokenizer(markers)).opaque
    assert format_slices(analysis_of("j1-json-in-tags").formats, opaque) == ()
    assert format_slices(Formats.of(analysis_of("a1-function-parameter").format), opaque)
