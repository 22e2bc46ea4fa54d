"""Values that are nothing but their members, each an element with its own marks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    RowSlot,
    ValueNotation,
    json_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.text_format import StringText
from autoparser.analysis.parsing.entry_openings import read_elements
from autoparser.analysis.parsing.value_decoding import UnreadableValueError

ITEMS = ContainerNotation(entry=("<item>", RowSlot.VALUE, "</item>"))
MEMBERS = ContainerNotation(entry=("<", RowSlot.KEY, ">", RowSlot.VALUE, "</", RowSlot.KEY, ">"))
ELEMENTS: ValueNotation = replace(json_notation(), string=StringText(), array=ITEMS, object=MEMBERS)
ANY = SchemaPart.of(None)
STRINGS = SchemaPart.of({"type": "array", "items": {"type": "string"}})


@pytest.mark.parametrize(
    "value",
    [
        ["a", "b c"],
        [1, -2.5, True, None],
        [["a"], ["b", ["c"]]],
        {"mode": "fast", "depth": 3},
        {"a": {"a": {"a": "x"}}},
        {"list": ["x", {"k": 1}], "on": False},
    ],
)
def test_elements_come_back(value: Json) -> None:
    assert read_elements(ELEMENTS.write(value), ELEMENTS, ANY) == value


def test_whitespace_between_elements_is_forgiven() -> None:
    assert read_elements("\n<item>a</item>\n <item>b</item>\n", ELEMENTS, ANY) == ["a", "b"]


def test_the_schema_types_what_stands_in_an_element() -> None:
    assert read_elements("<item>1</item><item>true</item>", ELEMENTS, STRINGS) == ["1", "true"]
    schema: Json = {"properties": {"n": {"type": "string"}, "l": {"type": "array"}}}
    assert read_elements("<n>1</n><l></l>", ELEMENTS, SchemaPart.of(schema)) == {"n": "1", "l": []}


def test_elements_of_one_name_are_a_list_where_the_schema_does_not_declare_it() -> None:
    text = "<n>1</n><n>2</n><m>3</m><n>x</n>"
    assert read_elements(text, ELEMENTS, ANY) == {"n": [1, 2, "x"], "m": 3}
    schema: Json = {"properties": {"n": {"type": "integer"}}}
    assert read_elements("<n>1</n><n>2</n>", ELEMENTS, SchemaPart.of(schema)) == {"n": 2}


@pytest.mark.parametrize("text", ["", "words", "<item>a", "<item>a</item> rest", "<a b>x</a b>"])
def test_other_text_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableValueError):
        read_elements(text, ELEMENTS, ANY)


def test_a_notation_with_brackets_has_no_elements() -> None:
    with pytest.raises(UnreadableValueError):
        read_elements("<item>a</item>", json_notation(), ANY)
