"""What a person gives: read as a data class, or refused with its place and a way out."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from autoparser.analysis.core.documents import place_in, read_value
from autoparser.analysis.core.errors import AutoparserError, kind_of


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class Leaf(Struct, forbid_unknown_fields=True, rename="kebab"):
    name: Annotated[str, Meta(min_length=1, description="the name of a leaf")]
    colour: Colour = Colour.GREEN
    leaf_edge: Literal["smooth", "toothed"] | None = None
    sizes: Annotated[tuple[float, ...], Meta(description="a list of widths in mm")] = ()
    falls: bool = False


class Tree(Struct):
    leaves: tuple[Leaf, ...] = ()
    nests: dict[str, dict[str, list[int]]] = {}
    colours: Colour | tuple[Colour, ...] = ()


def test_what_is_right_is_read() -> None:
    given = {"leaves": [{"name": "a", "leaf-edge": "toothed", "sizes": [1]}], "colours": "red"}
    (leaf,) = (tree := read_value(given, Tree, file="t.yaml")).leaves
    assert (leaf.name, leaf.leaf_edge, leaf.sizes) == ("a", "toothed", (1.0,))
    assert tree.colours is Colour.RED


WRONG: list[tuple[object, str, str, str]] = [
    # value, place, words, hint
    (3, "", "this is a number, not an object", ""),
    ({"leaves": {}}, "leaves", "this is an object, not a list", ""),
    ({"leaves": [{}]}, "leaves[0]", "this has no name", "add the name of a leaf"),
    ({"leaves": [{"name": 1}]}, "leaves[0].name", "this is a number, not a text", "put it in quo"),
    ({"leaves": [{"name": date(2025, 1, 1)}]}, "leaves[0].name", "a date, not a text", "quotes"),
    ({"leaves": [{"name": ""}]}, "leaves[0].name", "this is empty", "write the name of a leaf"),
    ({"leaves": [{"name": None}]}, "leaves[0].name", "this is empty, not a text", "write the"),
    (
        {"leaves": [{"name": "a", "color": "red"}]},
        "leaves[0].color",
        "there is no key 'color'",
        "did you mean colour? there are name, colour, leaf-edge, sizes, falls",
    ),
    (
        {"leaves": [{"name": "a", "colour": "gren"}]},
        "leaves[0].colour",
        "'gren' is none of red, green",
        "did you mean green?",
    ),
    (
        {"leaves": [{"name": "a", "leaf-edge": "smoth"}]},
        "leaves[0].leaf-edge",
        "is none of",
        "did you mean smooth?",
    ),
    (
        {"leaves": [{"name": "a", "sizes": [1, "2"]}]},
        "leaves[0].sizes[1]",
        "this is a text, not a number",
        "write a list of widths in mm",
    ),
    (
        {"leaves": [{"name": "a", "falls": 1}]},
        "leaves[0].falls",
        "this is a number, not true or false",
        "",
    ),
    ({"colours": ["red", "rde"]}, "colours[1]", "'rde' is none of red, green", "did you mean red?"),
    ({"leaves": [{"name": "a", "colour": []}]}, "leaves[0].colour", "a list, not a text", ""),
    # msgspec tells no member's name.
    ({"nests": {"a": {}, "b.c": {"d": [], "e": [1, "x"]}}}, 'nests."b.c".e[1]', "not a number", ""),
    ({"nests": {1: {}}}, "nests", "a key is not a text", "put it in quotes"),
    ({"\udfff": {}}, "", "half a character", ""),
]


@pytest.mark.parametrize(("value", "place", "words", "hint"), WRONG)
def test_what_is_wrong_is_told_with_its_place_and_a_way_out(
    value: object, place: str, words: str, hint: str
) -> None:
    with pytest.raises(AutoparserError) as raised:
        read_value(value, Tree, file="t.yaml")
    error = raised.value
    assert (error.file, error.place) == ("t.yaml", place or None)
    assert words in error.message
    assert hint in (error.hint or "")


def test_what_nobody_writes_by_hand_is_to_be_made_again() -> None:
    with pytest.raises(AutoparserError, match=r"not a text; start again$"):
        read_value({"leaves": [{"name": 1}]}, Tree, file="f", hint="start again")


def test_a_place_goes_on_from_where_the_value_stands() -> None:
    with pytest.raises(AutoparserError, match=r"^f: line 3\.leaves\[0\]: this has no name"):
        read_value({"leaves": [{}]}, Tree, file="f", place="line 3")
    assert place_in("", "a", 0, "b c") == 'a[0]."b c"'
    assert kind_of({1}) == "a set"
