"""Check text comparison: common ends, repetitions, slots, markers, and names in ids."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings, strategies as st

from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.error_words import missing_name_hint, nearest_word, spelling_hint
from autoparser.analysis.core.text_alignment import (
    common_prefix,
    common_suffix,
    diff_split,
    differing_parts,
    edge_units,
    prefix_length,
    spaced_spellings,
    split_repetition,
)
from tests.case_tables import case_tables

table = case_tables(__file__, "texts.yaml")
MARKUP = st.text(st.sampled_from('ab1 _<>/|[]"\n=⟦⟧.{}'), max_size=24)


@table("differing_parts")
def test_differing_parts_lie_between_shared_text(case: Any) -> None:
    assert [*differing_parts(case["left"], case["right"])] == case["expected"]


@settings(max_examples=60)
@given(MARKUP, MARKUP)
def test_diff_parts_rejoin_to_both_texts(left: str, right: str) -> None:
    split = diff_split(left, right)
    assert split.prefix + split.left + split.suffix == left
    assert split.prefix + split.right + split.suffix == right
    assert common_prefix(left, right) == common_prefix(right, left) == split.prefix
    assert common_suffix(left, right) == common_suffix(right, left)
    length = prefix_length(left, right)
    assert left[:length] == right[:length]
    assert left[length : length + 1] != right[length : length + 1] or left == right
    assert "".join(edge_units(left)) == left
    assert "" not in edge_units(left)


@settings(max_examples=60)
@given(MARKUP, MARKUP, MARKUP)
def test_repetition_parts_rejoin_to_the_texts(before: str, between: str, after: str) -> None:
    found = split_repetition(before, between, after)
    assert found.prefix + found.open == before
    assert found.close + found.separator + found.open == between
    assert found.close + found.suffix == after


@table("spellings")
def test_spellings_vary_whitespace_except_between_words(case: Any) -> None:
    first, *found = spaced_spellings(case["text"])
    assert first == case["text"]
    assert {*found} >= {*case["others"]}
    assert bool(found) == bool(case["others"])
    assert {"".join(text.split()) for text in found} <= {"".join(first.split())}


def test_whitespace_spellings_stop_growing_after_eight_gaps() -> None:
    # Without a bound, each gap doubles the spellings, and six more gaps make 64 times as many.
    short = "<a>" + "\n<b>" * 8
    assert len(spaced_spellings(short + "\n<c>" * 6)) == len(spaced_spellings(short))


@table("ids")
def test_unknown_id_form_names_the_one_tool_it_contains(case: Any) -> None:
    assert NamingId().name_in(case["call_id"], case["offered"]) == case["name"]


PUT_TOGETHER = NamingId(("functions.", RowSlot.NAME, ":", RowSlot.INDEX))
TAKEN_APART = NamingId((RowSlot.ID, "~", RowSlot.NAME, "/", RowSlot.ID))


def test_call_id_name_is_read_by_its_row_or_the_general_rule() -> None:
    for naming, call_id, name in (
        (PUT_TOGETHER, "functions.delete:0", "delete"),
        (PUT_TOGETHER, "functions.files.delete:11", "files.delete"),
        (PUT_TOGETHER, "delete:0", "delete"),
        (TAKEN_APART, "7~delete/aB3", "delete"),
        (TAKEN_APART, "delete", "delete"),
    ):
        assert naming.name_in(call_id, None) == name
    assert PUT_TOGETHER.name_in("functions.functions:0", {"delete", "functions"}) == "functions"
    for naming in (NamingId(), PUT_TOGETHER, TAKEN_APART):
        written = naming.write("files.delete", 3)
        assert naming.name_in(written, {"files.delete"}) == "files.delete"
        pattern = naming.pattern(r"files\.delete", re.escape, word=r"\w+", number=r"\d+")
        assert re.fullmatch(pattern, written)


def test_misspelled_word_gets_a_hint_and_unlike_word_does_not() -> None:
    assert nearest_word("t33", ["T2", "T3"]) == "T3"
    assert nearest_word("TOOLS", ["tools"]) == "tools"
    assert nearest_word("anything", []) is None
    assert spelling_hint("sarf", ["text", "sarif"], "x") == "did you mean sarif? x"
    assert spelling_hint("zebra", ["rag"], "there is rag") == "there is rag"
    assert spelling_hint("zebra", ["rag"]) == ""
    assert missing_name_hint("role", ["rol", "content"], "x") == "did you mean role for rol? x"
    # An existing name is not a misspelling of another.
    assert missing_name_hint("role", ["role"], "x") == "x"
