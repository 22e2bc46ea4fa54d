"""Strings, values, calls and whole turns, written by formats that are put together by hand."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from autoparser import ChatTemplate
from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
    python_notation,
)
from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_format import (
    EdgeStrip,
    StringEscape,
    StringText,
    StrippedEdges,
    TurnLayout,
    TurnPart,
)
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from tests.case_tables import case_tables

table = case_tables(__file__, "turns.yaml")


def row(text: str) -> Row:
    """Return the row that a text with slots in braces stands for."""
    pieces = re.split(r"\{(\w+)\}", text)
    return tuple(RowSlot(each) if at % 2 else each for at, each in enumerate(pieces) if each)


@table("edges")
def test_an_edge_loses_what_the_table_says(case: Any) -> None:
    edges = StrippedEdges(EdgeStrip(case["left"]), EdgeStrip(case["right"]))
    assert edges.apply("\n\n a b \n\n") == case["written"]


@table("strings")
def test_a_string_is_written_with_edges_escapes_and_guards(case: Any) -> None:
    string = msgspec.convert(case["string"], StringText)
    assert string.write(case["text"]) == case["written"], case.get("reason")


@settings(max_examples=40)
@given(st.text())
def test_escapes_are_what_jinja_and_python_write(text: str) -> None:
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
def test_json_is_written_as_json_dumps_does_with_every_setting(
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
def test_python_is_written_as_repr_does_and_a_margin_moves_every_line(
    value: Json, margin: str
) -> None:
    assert python_notation().write(value) == repr(value)
    notation = json_notation(indent="  ")
    assert notation.write(value, margin) == notation.write(value).replace("\n", f"\n{margin}")


INVENTED = ValueNotation(
    string=StringText("‹", "›"),
    true="yes",
    false="no",
    null="∅",
    array=ContainerNotation("⟨", "⟩", " ; ", "⟨⟩"),
    object=ContainerNotation(
        "⟪", "⟫", " ⸴ ", "⟪ ⟫", row("{key} ≔ {value}"), order=MemberOrder.SORTED
    ),
    number=StringText("#", ""),
)


@table("values")
def test_a_value_is_written_in_an_invented_notation(case: Any) -> None:
    assert INVENTED.write(case["value"]) == case["written"], case.get("reason")
    assert not INVENTED.is_json


@table("members")
def test_members_are_written_by_the_row_of_their_type(case: Any) -> None:
    tags = ContainerNotation(
        separator="\n",
        entry=row("<p n={key}>{value}</p>"),
        typed={JsonType.STRING: row("<p n={key} s>{value}</p>"), JsonType.NULL: None},
        values=json_notation(),
    )
    outer = ValueNotation(StringText(), "T", "F", "N", ContainerNotation(), ContainerNotation())
    assert tags.write(list(case["members"].items()), outer) == case["written"], case.get("reason")


def test_keys_are_sorted_and_values_written_by_their_holder() -> None:
    keys = ["b", "C", "a", "B"]
    assert MemberOrder.SORTED_FOLDED.arrange(keys) == ["a", "b", "B", "C"]
    container = ContainerNotation("(", ")", ",")
    outer = ValueNotation(StringText("'", "'"), "T", "F", "N", container, container)
    assert container.write([("", "a"), ("", True)], outer) == "('a',T)"
    assert json_notation(ascii_only=True, indent=" ").is_json
    assert not python_notation().is_json
    assert replace(JSON, verbatim=True).write({"ü": ["é"]}) == '{"ü": ["é"]}'
    lines = json_notation(indent="  ")
    written = ArgumentFormat(lines.object, lines, margin="  ").write({"a": 1})
    assert written == '{\n    "a": 1\n  }'


JSON = ArgumentFormat(json_notation().object, json_notation())
ARGUMENTS: dict[str, dict[str, Json]] = {"f": {"a": 1}, "g": {"b": "x"}, "h": {}}


def calls_of(names: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(name, ARGUMENTS[name], f"id{'fgh'.index(name) + 1}") for name in names)


@table("calls")
def test_calls_are_written_by_their_row(case: Any) -> None:
    options = dict(case.get("format", {}))
    if "limit" in options:
        options["limit"] = CallLimit(options["limit"])
    empty = row(case["empty_row"]) if "empty_row" in case else None
    format_ = CallFormat(row(case["row"]), JSON, empty_row=empty, **options)
    assert format_.write(calls_of(case["calls"])) == case["written"]


CONTENT, REASONING, CALLS = TurnPart.CONTENT, TurnPart.REASONING, TurnPart.CALLS
FORMAT = TurnFormat(
    header="A:",
    layouts={
        Presence(): TurnLayout((), ("A:.",)),
        Presence(content=True): TurnLayout((CONTENT,), ("A:", ".")),
        Presence(reasoning=True, content=True): TurnLayout(
            (REASONING, CONTENT),
            ("A:(r)", "(/r) ", "."),
            reasoning=StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE),
        ),
        Presence(reasoning=True): TurnLayout(refusal="say something"),
        Presence(calls=True): TurnLayout((CALLS,), ("A:", "!")),
        Presence(content=True, calls=True): TurnLayout((CALLS,), ("A:", "!")),
        Presence(reasoning=True, calls=True): TurnLayout(
            (REASONING, CALLS), ("A:(r)", "(/r)", "!")
        ),
        Presence(reasoning=True, content=True, calls=True): TurnLayout(
            (CONTENT, CALLS, CONTENT),
            ("A:", "|", "|", "!"),
            content=StrippedEdges(EdgeStrip.NEWLINE),
        ),
    },
    calls=CallFormat(row("{name}"), JSON, "[", "]", ","),
)


@table("turns")
def test_a_turn_is_written_as_it_is_laid_out(case: Any) -> None:
    message = Message(**case.get("message", {}), calls=calls_of(case.get("calls", "")))
    format_ = replace(FORMAT, reasoning_cut=case.get("cut"))
    assert format_.write(message) == case["written"], case.get("reason")


def test_a_refused_message_raises_in_the_words_of_the_template() -> None:
    two = Message(calls=calls_of("fg"))
    one_call = CallFormat(row("{name}"), JSON, limit=CallLimit.REFUSED)
    no_integer = CallFormat(row("{name}"), replace(JSON, refused=frozenset({JsonType.INTEGER})))
    for format_, message, words in (
        (FORMAT, Message("", "Hm"), "say something"),
        (replace(FORMAT, calls=one_call), two, "one call"),
        (replace(FORMAT, calls=no_integer), two, "integer"),
    ):
        with pytest.raises(RefusedMessageError, match=words):
            format_.write(message)
    # A type in a call that is not written does not matter.
    last = replace(no_integer, limit=CallLimit.LAST)
    assert replace(FORMAT, calls=last).write(two) == "A:g!"
