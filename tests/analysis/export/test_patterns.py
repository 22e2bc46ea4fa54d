"""Patterns from literals: what they match, and how they are written down."""

from __future__ import annotations

import re

import pytest

from autoparser.analysis.export.field_patterns import (
    anchor_field,
    any_pattern,
    at_most,
    exact_pattern,
    loose_pattern,
    widest_pattern,
)

TEXTS = ["<|im_end|>", "a.b*c?", "[x]{2}(y)", "\n\t", "^$\\", "日本 語", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_an_exact_pattern_matches_its_text_alone(text: str) -> None:
    assert re.fullmatch(exact_pattern(text), text)
    assert not re.fullmatch(exact_pattern(text), f"{text}x")


@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_an_exact_pattern_is_written_as_a_literal(text: str) -> None:
    assert anchor_field("open", exact_pattern(text)) == {"open": text}


@pytest.mark.parametrize("pattern", [r"a\s*", "a?", "(?:a|b)", r"\d", ""])
def test_any_other_pattern_is_written_as_one(pattern: str) -> None:
    assert anchor_field("open", pattern) == {"open_pattern": pattern}


@pytest.mark.parametrize(
    ("space", "pattern", "longest"),
    [("", "", ""), ("\n", r"\n?", "\n"), ("\n\n ", r"\n{0,2} ?", "\n\n ")],
)
def test_whitespace_is_matched_as_far_as_it_is_written(
    space: str, pattern: str, longest: str
) -> None:
    assert at_most(space) == pattern
    assert all(re.fullmatch(pattern, longest[:end]) for end in range(len(longest) + 1))
    assert not re.fullmatch(pattern, f"{longest}\n\n\n")


def test_the_widest_whitespace_holds_the_others() -> None:
    assert widest_pattern(["\n", "\n\n", ""]) == r"\n{0,2}"


@pytest.mark.parametrize(
    ("text", "matched", "not_matched"),
    [
        ("<a>\n<b>", ["<a><b>", "<a>\n\n  <b>"], ["<a>x<b>", " <a><b>"]),
        ("\n<a>\n", ["<a>", " <a>\n\n"], ["x<a>"]),
        ('<a b="', ['<a b="'], ['<ab="', '<a  b="']),
    ],
)
def test_a_loose_pattern_forgives_whitespace(
    text: str, matched: list[str], not_matched: list[str]
) -> None:
    assert all(re.fullmatch(loose_pattern(text), each) for each in matched)
    assert not any(re.fullmatch(loose_pattern(text), each) for each in not_matched)


def test_one_of_several_patterns() -> None:
    assert (any_pattern([]), any_pattern(["", "a"]), any_pattern(["a", "b", "a"])) == (
        "",
        "a",
        "(?:a|b)",
    )
