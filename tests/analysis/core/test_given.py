"""Check the conversion of user input, and errors with their place and a hint."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from autoparser import AutoparserError, Message, ToolCall
from autoparser.analysis.core.documents import place_in, read_value
from autoparser.analysis.core.error_words import value_kind
from autoparser.analysis.core.reading_judge import (
    MessageAgreement,
    ReadCall,
    ReadingJudge,
    ReadMessage,
    same_json,
)
from tests.case_tables import case_tables

table = case_tables(__file__, "given.yaml")


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


@table("wrong")
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


@table("readings")
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


@table("equal")
def test_json_equality_matches_the_table(case: Any) -> None:
    assert same_json(case["one"], case["other"]) is case["same"]
    assert same_json(case["other"], case["one"]) is case["same"]
