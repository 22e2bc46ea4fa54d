"""How values are written: as JSON, as Python, and in ways that nobody has invented yet."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    RowSlot,
    ValueNotation,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import JsonType, type_of
from autoparser.analysis.core.text_format import StringEscape, StringText

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_what_tojson_writes(value: Json) -> None:
    assert json_notation().write(value) == json.dumps(value, ensure_ascii=False)


@given(
    VALUES,
    st.booleans(),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":"), (", ", ":")]),
    st.sampled_from([0, 1, 2, 4]),
)
def test_json_with_every_setting(
    value: Json, ascii_only: bool, sort_keys: bool, separators: tuple[str, str], indent: int
) -> None:
    comma, colon = separators
    comma = comma.rstrip() if indent else comma
    notation = json_notation(
        comma=comma,
        colon=colon,
        ascii_only=ascii_only,
        order=MemberOrder.SORTED if sort_keys else MemberOrder.GIVEN,
        indent=" " * indent,
    )
    expected = json.dumps(
        value,
        ensure_ascii=ascii_only,
        sort_keys=sort_keys,
        separators=(comma, colon),
        indent=indent or None,
    )
    assert notation.write(value) == expected


@given(VALUES)
def test_python_is_what_repr_writes(value: Json) -> None:
    assert python_notation().write(value) == repr(value)


@given(VALUES, st.text(st.just(" "), max_size=4))
def test_a_margin_moves_every_line(value: Json, margin: str) -> None:
    notation = json_notation(indent="  ")
    moved = notation.write(value, margin)
    assert moved == notation.write(value).replace("\n", f"\n{margin}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, JsonType.NULL),
        (True, JsonType.BOOLEAN),
        (0, JsonType.INTEGER),
        (1.0, JsonType.NUMBER),
        ("", JsonType.STRING),
        ([], JsonType.ARRAY),
        ({}, JsonType.OBJECT),
    ],
)
def test_type_of(value: Json, expected: JsonType) -> None:
    assert type_of(value) is expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (MemberOrder.GIVEN, ["b", "C", "a", "B"]),
        (MemberOrder.SORTED, ["B", "C", "a", "b"]),
        (MemberOrder.SORTED_FOLDED, ["a", "b", "B", "C"]),
    ],
)
def test_order(order: MemberOrder, expected: list[str]) -> None:
    assert order.arrange(["b", "C", "a", "B"]) == expected


@pytest.mark.parametrize(
    ("notation", "expected", "reason"),
    [
        (json_notation(), True, "JSON"),
        (json_notation(ascii_only=True, indent=" "), True, "however it is laid out"),
        (python_notation(), False, "Python's words and quotes"),
        (
            ValueNotation(
                StringText(),
                "true",
                "false",
                "null",
                ContainerNotation("[", "]"),
                ContainerNotation("{", "}"),
            ),
            False,
            "strings without quotes",
        ),
    ],
)
def test_is_json(notation: ValueNotation, expected: bool, reason: str) -> None:
    assert notation.is_json is expected, reason


INVENTED = ValueNotation(
    string=StringText("‹", "›"),
    true="yes",
    false="no",
    null="∅",
    array=ContainerNotation("⟨", "⟩", " ; ", "⟨⟩"),
    object=ContainerNotation(
        "⟪", "⟫", " ⸴ ", "⟪ ⟫", (RowSlot.KEY, " ≔ ", RowSlot.VALUE), order=MemberOrder.SORTED
    ),
    number=StringText("#", ""),
)


@pytest.mark.parametrize(
    ("value", "expected", "reason"),
    [
        ("a", "‹a›", "a string"),
        (1, "#1", "a number"),
        (-0.5, "#-0.5", "a fraction"),
        (True, "yes", "true is not a number"),
        (None, "∅", "null"),
        ([], "⟨⟩", "an empty array"),
        ({}, "⟪ ⟫", "an empty object, in its own words"),
        ([1, ["a"]], "⟨#1 ; ⟨‹a›⟩⟩", "nested arrays"),
        ({"b": 1, "a": None}, "⟪a ≔ ∅ ⸴ b ≔ #1⟫", "sorted members"),
    ],
)
def test_an_invented_notation(value: Json, expected: str, reason: str) -> None:
    assert INVENTED.write(value) == expected, reason


TAGS = ContainerNotation(
    separator="\n",
    entry=("<p n=", RowSlot.KEY, ">", RowSlot.VALUE, "</p>"),
    typed={
        JsonType.STRING: ("<p n=", RowSlot.KEY, " s>", RowSlot.VALUE, "</p>"),
        JsonType.NULL: None,
    },
    values=json_notation(),
)


@pytest.mark.parametrize(
    ("members", "expected", "reason"),
    [
        ({}, "", "none"),
        ({"a": 1}, "<p n=a>1</p>", "the usual row"),
        ({"a": "x"}, '<p n=a s>"x"</p>', "a row of its type"),
        ({"a": None, "b": 2}, "<p n=b>2</p>", "null is not written, nor its separator"),
        ({"a": None}, "", "nothing written is an empty container"),
        ({"b": 1, "a": [1]}, "<p n=b>1</p>\n<p n=a>[1]</p>", "as given, on lines"),
    ],
)
def test_entries(members: dict[str, Json], expected: str, reason: str) -> None:
    outer = ValueNotation(StringText(), "T", "F", "N", ContainerNotation(), ContainerNotation())
    assert TAGS.write(list(members.items()), outer) == expected, reason


def test_values_are_written_by_the_holder_where_none_are_named() -> None:
    container = ContainerNotation("(", ")", ",")
    outer = ValueNotation(
        StringText("'", "'", StringEscape.VERBATIM), "T", "F", "N", container, container
    )
    assert container.write([("", "a"), ("", True)], outer) == "('a',T)"


def test_floats_keep_their_kind() -> None:
    assert json_notation().write(1.0) == "1.0"
    assert json_notation().write(1e-07) == "1e-07"
    assert math.isclose(float(json_notation().write(0.1)), 0.1)
