"""Where two texts part, and that no cut goes through a marker."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from autoparser.analysis.core.text_alignment import (
    common_prefix,
    common_suffix,
    diff_split,
    differing_parts,
    edge_units,
    is_unit,
    prefix_length,
)

MARKUP = st.text(st.sampled_from('ab1 _<>/|[]"\n=⟦⟧.{}'), max_size=24)


@pytest.mark.parametrize(
    ("texts", "expected", "reason"),
    [
        (("alike",), "alike", "one text is its own beginning"),
        (("same", "same"), "same", "equal texts"),
        (("", "x"), "", "nothing to share"),
        (("a b", "a c"), "a ", "words part between words"),
        (("one two", "one twenty"), "one ", "a word is not cut"),
        (("<think>x", "<thank>x"), "", "a tag is not cut"),
        (("<tool a='1'>", "<tool a='2'>"), "", "nor one with attributes"),
        (("\n<a>\n<b>", "\n<a>\n</b>"), "\n<a>\n", "tags that begin alike"),
        (("[INST]x", "[INFO]x"), "", "a word in square brackets is not cut"),
        (("⟦on⟧", "⟦of⟧"), "", "brackets of other scripts are not cut"),
        (("|||a", "||b"), "", "a run of one sign is not cut"),
        (("a, b", "a; b"), "a", "signs may part"),
        (('{"a": 1', '{"b": 1'), '{"', "JSON's brackets and quotes stand alone"),
        (("<a>x", "<a>y", "<b>y"), "", "all texts count"),
    ],
)
def test_common_prefix(texts: tuple[str, ...], expected: str, reason: str) -> None:
    assert common_prefix(*texts) == expected, reason


@pytest.mark.parametrize(
    ("texts", "expected", "reason"),
    [
        (("a.", "b."), ".", "signs part from words"),
        (("xa", "ya"), "", "a word is not cut"),
        (("x</tool>", "y</pool>"), "", "a tag is not cut"),
        (("</a>\n", "</b>\n"), "\n", "tags that end alike"),
        (("1</v>\n</p>", '"</v>\n</p>'), "</v>\n</p>", "several tags"),
        (("x[/INST]", "y[/POST]"), "", "a word in square brackets is not cut"),
        (("f <p k=", "g <q k="), "", "nor a tag that a slot follows"),
        (('f <- {"', ', "'), '"', "an arrow is not a tag"),
    ],
)
def test_common_suffix(texts: tuple[str, ...], expected: str, reason: str) -> None:
    assert common_suffix(*texts) == expected, reason


@given(MARKUP, MARKUP)
def test_a_common_beginning_is_one(left: str, right: str) -> None:
    shared = common_prefix(left, right)
    assert left.startswith(shared)
    assert right.startswith(shared)
    assert len(shared) <= prefix_length(left, right)
    assert common_prefix(left, right) == common_prefix(right, left)


@given(MARKUP, MARKUP)
def test_a_common_end_is_one(left: str, right: str) -> None:
    shared = common_suffix(left, right)
    assert left.endswith(shared)
    assert right.endswith(shared)
    assert common_suffix(left, right) == common_suffix(right, left)


@given(MARKUP, MARKUP)
def test_prefix_length_is_the_longest(left: str, right: str) -> None:
    length = prefix_length(left, right)
    assert left[:length] == right[:length]
    assert left[length : length + 1] != right[length : length + 1] or length == min(
        len(left), len(right)
    )


@pytest.mark.parametrize(
    ("left", "right", "expected", "reason"),
    [
        ("same", "same", ("same", "", "", ""), "nothing differs"),
        ("", "new", ("", "", "new", ""), "one is empty"),
        ("a.", "a<t>x</t>.", ("a", "", "<t>x</t>", "."), "an insertion"),
        (
            "<t><b>x</b></t>",
            "<t><i>x</i></t>",
            ("<t>", "<b>x</b>", "<i>x</i>", "</t>"),
            "the tags differ, not their brackets",
        ),
        ("aXa", "aa", ("", "aXa", "aa", ""), "words are whole"),
        (". .", ". . .", (". .", "", " .", ""), "no sign is counted twice"),
    ],
)
def test_diff_split(
    left: str, right: str, expected: tuple[str, str, str, str], reason: str
) -> None:
    split = diff_split(left, right)
    assert (split.prefix, split.left, split.right, split.suffix) == expected, reason


@given(MARKUP, MARKUP)
def test_a_split_recomposes(left: str, right: str) -> None:
    split = diff_split(left, right)
    assert split.prefix + split.left + split.suffix == left
    assert split.prefix + split.right + split.suffix == right


@given(MARKUP)
def test_a_text_differs_from_itself_in_nothing(text: str) -> None:
    split = diff_split(text, text)
    assert (split.left, split.right) == ("", "")


@given(MARKUP)
def test_units_recompose(text: str) -> None:
    units = edge_units(text)
    assert "".join(units) == text
    assert "" not in units


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("<tool_call>", True, "a tag"),
        ("</a b='c'>", True, "with attributes"),
        ("<|im_end|>", True, "a special token"),
        ("[TOOL_CALLS]", True, "square brackets"),
        ("⟦call⟧", True, "other brackets"),
        ("word", False, "a word"),
        ("<a><b>", False, "two tags"),
        ("", False, "nothing"),
        (" <a>", False, "whitespace before a tag"),
        ("###", False, "signs without brackets"),
    ],
)
def test_is_unit(text: str, expected: bool, reason: str) -> None:
    assert is_unit(text) is expected, reason


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("in Oslo now", "in olsO now", ("Oslo", "olsO")),
        ("<call>", "<cell>", ("a", "e")),
        ("aa", "aaa", ("", "a")),
        ("same", "same", ("", "")),
        ("", "new", ("", "new")),
    ],
)
def test_differing_parts_stand_between_what_two_texts_share(
    left: str, right: str, expected: tuple[str, str]
) -> None:
    assert differing_parts(left, right) == expected
