"""Patterns from literals: what they match, and how they are written down."""

from __future__ import annotations

import re

import pytest

from autoparser.analysis.export.field_patterns import (
    anchor_field,
    at_most,
    exact_pattern,
    loose_pattern,
)

TEXTS = ["<|im_end|>", "a.b*c?", "[x]{2}(y)", "\n\t", "^$\\", "日本 語"]


@pytest.mark.parametrize("text", TEXTS)
def test_an_exact_pattern_matches_its_text_alone_and_is_written_as_a_literal(text: str) -> None:
    pattern = exact_pattern(text)
    assert re.fullmatch(pattern, text)
    assert not re.fullmatch(pattern, f"{text}x")
    assert anchor_field("open", pattern) == {"open": text}


def test_any_other_pattern_is_written_as_one() -> None:
    for pattern in (r"a\s*", "a?", "(?:a|b)", r"\d", ""):
        assert anchor_field("open", pattern) == {"open_pattern": pattern}


def test_whitespace_is_matched_as_far_as_it_is_written() -> None:
    for space in ("", "\n", "\n\n "):
        pattern = at_most(space)
        assert all(re.fullmatch(pattern, space[:end]) for end in range(len(space) + 1))
        assert not re.fullmatch(pattern, f"{space}\n\n\n")


def test_a_loose_pattern_forgives_whitespace() -> None:
    for text, matched, others in (
        ("<a>\n<b>", ["<a><b>", "<a>\n\n  <b>"], ["<a>x<b>", " <a><b>"]),
        ("\n<a>\n", ["<a>", " <a>\n\n"], ["x<a>"]),
        ('<a b="', ['<a b="'], ['<ab="', '<a  b="']),
    ):
        assert all(re.fullmatch(loose_pattern(text), each) for each in matched)
        assert not any(re.fullmatch(loose_pattern(text), each) for each in others)
