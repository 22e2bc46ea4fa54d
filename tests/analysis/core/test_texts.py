"""Check texts (ends, repetitions, slots, markers, ids, written values) and given values."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import Meta, Struct

from autoparser import AutoparserError, ChatTemplate, Json, Message, ToolCall
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    NamingId,
    Row,
    RowSlot,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.documents import place_in, read_value
from autoparser.analysis.core.error_words import (
    missing_name_hint,
    nearest_word,
    spelling_hint,
    value_kind,
)
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.reading_judge import (
    MessageAgreement,
    ReadCall,
    ReadingJudge,
    ReadMessage,
    same_json,
)
from autoparser.analysis.core.string_notation import StringEscape, StringText
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


@settings(max_examples=40)
@given(st.text())
def test_escapes_equal_jinjas_and_pythons(text: str) -> None:
    assert f'"{StringText(escape=StringEscape.JSON).write(text)}"' == json.dumps(
        text, ensure_ascii=False
    )
    assert f'"{StringText(escape=StringEscape.JSON_ASCII).write(text)}"' == json.dumps(text)
    assert StringText(escape=StringEscape.PYTHON).write(text) == repr(text)
    template = ChatTemplate("{{ messages[0].content|e }}|{{ messages[0].content|tojson|e }}")
    shown = template.render([{"role": "user", "content": text}])
    plain = StringText(escape=StringEscape.HTML).write(text)
    inner = StringText("&#34;", "&#34;", StringEscape.JSON_HTML).write(text)
    assert shown == f"{plain}|{inner}"


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    VALUES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":"), (", ", ":")]),
    st.sampled_from([None, 1, 2, 4]),
)
def test_json_notation_equals_json_dumps_for_every_option(
    value: Json,
    ensure_ascii: bool,
    sort_keys: bool,
    separators: tuple[str, str],
    indent: int | None,
) -> None:
    comma, colon = separators
    comma = comma.rstrip() if indent else comma
    notation = json_notation(
        comma=comma,
        colon=colon,
        ascii_only=ensure_ascii,
        order=MemberOrder.SORTED if sort_keys else MemberOrder.GIVEN,
        indent=" " * (indent or 0),
    )
    dumps = partial(json.dumps, ensure_ascii=ensure_ascii, sort_keys=sort_keys, indent=indent)
    assert notation.write(value) == dumps(value, separators=(comma, colon))


@settings(max_examples=40)
@given(VALUES, st.text(st.just(" "), max_size=4))
def test_python_notation_equals_repr_and_margin_indents_every_line(
    value: Json, margin: str
) -> None:
    assert python_notation().write(value) == repr(value)
    notation = json_notation(indent="  ")
    assert notation.write(value, margin) == notation.write(value).replace("\n", f"\n{margin}")


def test_member_whose_type_has_no_row_is_omitted_with_its_separator() -> None:
    def row(*flag: str) -> Row:
        return ("<p n=", RowSlot.KEY, *flag, ">", RowSlot.VALUE, "</p>")

    typed = {JsonType.STRING: row(" s"), JsonType.NULL: None}
    tags = ContainerNotation(separator="\n", entry=row(), typed=typed, values=json_notation())
    cases: list[tuple[dict[str, Json], str]] = [
        ({"a": None, "b": 2}, "<p n=b>2</p>"),
        ({"a": "x", "b": [1]}, '<p n=a s>"x"</p>\n<p n=b>[1]</p>'),
    ]
    for members, written in cases:
        assert tags.write([*members.items()], python_notation()) == written


given_table = case_tables(__file__, "given.yaml")


class Color(StrEnum):
    RED = "red"
    GREEN = "green"


class Leaf(Struct, forbid_unknown_fields=True, rename="kebab"):
    name: Annotated[str, Meta(min_length=1, description="the name of a leaf")]
    color: Color = Color.GREEN
    leaf_edge: Literal["smooth", "toothed"] | None = None
    sizes: Annotated[tuple[float, ...], Meta(description="a list of widths in mm")] = ()
    falls: bool = False
    count: Annotated[int, Meta(ge=1, le=128)] = 1
    code: Annotated[str, Meta(max_length=2)] = ""
    trees: Literal[1] = 1


class Tree(Struct):
    leaves: tuple[Leaf, ...] = ()
    nests: dict[str, dict[str, list[int]]] = {}
    colors: Color | tuple[Color, ...] = ()


def test_value_of_the_right_type_is_converted() -> None:
    given = {"leaves": [{"name": "a", "leaf-edge": "toothed", "sizes": [1]}], "colors": "red"}
    (leaf,) = (tree := read_value(given, Tree, file="t.yaml")).leaves
    assert (leaf.name, leaf.leaf_edge, leaf.sizes) == ("a", "toothed", (1.0,))
    assert tree.colors is Color.RED


@given_table("wrong")
def test_wrong_value_error_names_place_and_hint(case: Any) -> None:
    with pytest.raises(AutoparserError) as raised:
        read_value(case["value"], Tree, file="t.yaml")
    error = raised.value
    assert (error.file, error.place) == ("t.yaml", case["place"] or None)
    assert case["words"] in error.message
    assert case["hint"] in (error.hint or "")


def test_error_place_extends_the_callers_and_keeps_its_hint() -> None:
    with pytest.raises(AutoparserError, match=r"must be a string, got a number; start again$"):
        read_value({"leaves": [{"name": 1}]}, Tree, file="f", hint="start again")
    with pytest.raises(AutoparserError, match=r"^f: line 3\.leaves\[0\]: missing name"):
        read_value({"leaves": [{}]}, Tree, file="f", place="line 3")
    assert place_in("", "a", 0, "b c") == 'a[0]."b c"'
    assert value_kind({1}) == "a set"


MEANT = Message("Done.", "So.", (ToolCall("f", {"a": 1, "b": ["x"]}, "id1"),))


def judge(*, alike: bool = False, allowed: bool = True) -> ReadingJudge:
    return ReadingJudge(lambda *_: alike, lambda _: allowed)


@given_table("readings")
def test_first_difference_of_a_message_is_reported(case: Any) -> None:
    content, reasoning, *calls = case["read"]
    read = ReadMessage(content, reasoning, tuple(ReadCall(*call) for call in calls))
    found = judge().judge(MEANT, read)
    assert (found.agreement.value, found.part) == (case["agreement"], case["part"])
    assert found.right is (case["agreement"] != "other")


def test_schema_allowed_difference_is_right() -> None:
    def reading(content: str, arguments: str) -> ReadMessage:
        return ReadMessage(content, "So.", (ReadCall("f", arguments),))

    same, other = '{"a": 1, "b": ["x"]}', '{"a": "1", "b": ["x"]}'
    found = judge(alike=True).judge(MEANT, reading("Done.\n", same))
    assert found.agreement is MessageAgreement.EXACT
    # Text other than whitespace was lost, which is wrong even if the template renders both alike.
    assert not judge(alike=True).judge(MEANT, reading("Do", same)).right
    assert judge(alike=True).judge(MEANT, reading("Done.", other)).right
    assert not judge(alike=True, allowed=False).judge(MEANT, reading("Done.", other)).right


@given_table("equal")
def test_json_equality_matches_the_table(case: Any) -> None:
    assert same_json(case["one"], case["other"]) is case["same"]
    assert same_json(case["other"], case["one"]) is case["same"]
