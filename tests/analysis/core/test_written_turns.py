"""Strings, values, calls and whole turns, written by formats that are put together by hand."""

from __future__ import annotations

import json

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
    StringGuard,
    StringText,
    StrippedEdges,
    TurnLayout,
    TurnPart,
)
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat

PADDED = "\n\n a b \n\n"


@pytest.mark.parametrize(
    ("left", "right", "expected", "reason"),
    [
        (EdgeStrip.NOTHING, EdgeStrip.NOTHING, "\n\n a b \n\n", "as it is"),
        (EdgeStrip.NEWLINE, EdgeStrip.NOTHING, "\n a b \n\n", "one newline"),
        (EdgeStrip.NOTHING, EdgeStrip.NEWLINE, "\n\n a b \n", "one newline"),
        (EdgeStrip.NEWLINES, EdgeStrip.NEWLINES, " a b ", "newlines, no spaces"),
        (EdgeStrip.WHITESPACE, EdgeStrip.NOTHING, "a b \n\n", "all whitespace"),
        (EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE, "a b", "all whitespace"),
    ],
)
def test_edges(left: EdgeStrip, right: EdgeStrip, expected: str, reason: str) -> None:
    assert StrippedEdges(left, right).apply(PADDED) == expected, reason


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


@pytest.mark.parametrize(
    ("text", "written", "expected", "reason"),
    [
        (StringText("<q>", "</q>"), "a", "<q>a</q>", "quotes"),
        (StringText('"', '"', StringEscape.JSON), 'a"\n', '"a\\"\\n"', "quotes and escapes"),
        (StringText(escape=StringEscape.PYTHON), "it's", '"it\'s"', "Python chooses its quotes"),
        (StringText(edges=StrippedEdges(EdgeStrip.WHITESPACE)), "  a ", "a ", "edges first"),
        (
            StringText(escape=StringEscape.TABLE, table={"a": "[a]", "é": ""}),
            "baé",
            "b[a]",
            "one character after another",
        ),
        (StringText(guard=StringGuard("<&", "![", "]")), "a b", "a b", "no guarded character"),
        (StringText(guard=StringGuard("<&", "![", "]")), "a<b", "![a<b]", "a guarded character"),
        (
            StringText("(", ")", StringEscape.JSON, guard=StringGuard("\n", "{", "}")),
            "a\n",
            "({a\\n})",
            "the guard stands inside the quotes, around the escapes",
        ),
    ],
)
def test_write(text: StringText, written: str, expected: str, reason: str) -> None:
    assert text.write(written) == expected, reason


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
    st.sampled_from([0, 1, 2, 4]),
)
def test_json_is_written_as_json_dumps_does_with_every_setting(
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


@settings(max_examples=40)
@given(VALUES, st.text(st.just(" "), max_size=4))
def test_python_is_written_as_repr_does_and_a_margin_moves_every_line(
    value: Json, margin: str
) -> None:
    assert python_notation().write(value) == repr(value)
    notation = json_notation(indent="  ")
    assert notation.write(value, margin) == notation.write(value).replace("\n", f"\n{margin}")


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
    outer = ValueNotation(StringText("'", "'"), "T", "F", "N", container, container)
    assert container.write([("", "a"), ("", True)], outer) == "('a',T)"


JSON = ArgumentFormat(json_notation().object, json_notation())
ONE = ToolCall("f", {"a": 1}, "id1")
TWO = ToolCall("g", {"b": "x"}, "id2")
BARE = ToolCall("h", {}, "id3")
TAGGED: Row = ("<c>", RowSlot.NAME, RowSlot.ARGUMENTS, "</c>")


@pytest.mark.parametrize(
    ("calls", "made", "expected", "reason"),
    [
        (CallFormat(TAGGED, JSON), (ONE,), '<c>f{"a": 1}</c>', "one call"),
        (CallFormat(TAGGED, JSON), (BARE,), "<c>h{}</c>", "no arguments"),
        (
            CallFormat(TAGGED, JSON, "[", "]", ", "),
            (ONE, TWO),
            '[<c>f{"a": 1}</c>, <c>g{"b": "x"}</c>]',
            "a section and a separator",
        ),
        (
            CallFormat((RowSlot.ID, "=", RowSlot.NAME), JSON, separator=";"),
            (ONE, TWO),
            "id1=f;id2=g",
            "ids",
        ),
        (
            CallFormat((RowSlot.NAME, ":", RowSlot.INDEX), JSON, separator=" ", index_base=5),
            (ONE, TWO, BARE),
            "f:5 g:6 h:7",
            "numbered calls",
        ),
        (
            CallFormat(TAGGED, JSON, empty_row=("<c>", RowSlot.NAME, " with nothing</c>")),
            (BARE, ONE),
            '<c>h with nothing</c><c>f{"a": 1}</c>',
            "a row of its own without arguments",
        ),
        (
            CallFormat((RowSlot.NAME,), JSON, later_close="!"),
            (ONE, TWO, BARE),
            "fg!h!",
            "closed after every call but the first",
        ),
        (
            CallFormat((RowSlot.NAME,), JSON, "[", "]", limit=CallLimit.FIRST),
            (ONE, TWO),
            "[f]",
            "only the first reaches the text",
        ),
        (
            CallFormat((RowSlot.NAME,), JSON, "[", "]", limit=CallLimit.LAST),
            (ONE, TWO),
            "[g]",
            "only the last reaches the text",
        ),
    ],
)
def test_calls(calls: CallFormat, made: tuple[ToolCall, ...], expected: str, reason: str) -> None:
    assert calls.write(made) == expected, reason


@pytest.mark.parametrize(
    ("arguments", "given", "expected", "reason"),
    [
        (JSON, {"ü": "é"}, '{"ü": "é"}', "JSON"),
        (replace(JSON, verbatim=True), {"a": [1]}, '{"a": [1]}', "the caller's own text"),
        (
            ArgumentFormat(
                json_notation(indent="  ").object, json_notation(indent="  "), margin="  "
            ),
            {"a": 1},
            '{\n    "a": 1\n  }',
            "lines begin with the margin",
        ),
        (
            ArgumentFormat(
                ContainerNotation(
                    entry=(RowSlot.KEY, "=", RowSlot.VALUE),
                    separator="&",
                    typed={JsonType.NULL: None},
                ),
                json_notation(),
            ),
            {"a": None, "b": True},
            "b=true",
            "arguments entry by entry",
        ),
    ],
)
def test_arguments(
    arguments: ArgumentFormat, given: dict[str, Json], expected: str, reason: str
) -> None:
    assert arguments.write(given) == expected, reason


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
    calls=CallFormat((RowSlot.NAME,), JSON, "[", "]", ","),
)


@pytest.mark.parametrize(
    ("message", "expected", "reason"),
    [
        (Message(), "A:.", "nothing said"),
        (Message("Hi"), "A:Hi.", "content"),
        (Message("Hi\n", "\n Hm \n"), "A:(r)Hm(/r) Hi\n.", "only the reasoning is stripped"),
        (Message(calls=(ONE, TWO)), "A:[f,g]!", "calls"),
        (Message("Hi", calls=(ONE,)), "A:[f]!", "content is dropped beside calls"),
        (Message("", "Hm", (ONE,)), "A:(r)Hm(/r)[f]!", "reasoning and a call"),
        (Message("\n\nHi", "Hm", (ONE,)), "A:\nHi|[f]|\nHi!", "content is written twice"),
    ],
)
def test_turns(message: Message, expected: str, reason: str) -> None:
    assert FORMAT.write(message) == expected, reason


def test_reasoning_is_cut_out_of_the_content() -> None:
    cutting = replace(FORMAT, reasoning_cut="(/r)")
    assert cutting.write(Message("(r)Hm(/r)Hi")) == "A:Hi."
    assert cutting.write(Message("Hi")) == "A:Hi."


@pytest.mark.parametrize(
    ("format_", "message", "words", "reason"),
    [
        (FORMAT, Message("", "Hm"), "say something", "the template's own words"),
        (
            replace(FORMAT, calls=CallFormat((RowSlot.NAME,), JSON, limit=CallLimit.REFUSED)),
            Message(calls=(ONE, TWO)),
            "one call",
            "two calls where one is allowed",
        ),
        (
            replace(
                FORMAT,
                calls=CallFormat(
                    (RowSlot.NAME,), replace(JSON, refused=frozenset({JsonType.INTEGER}))
                ),
            ),
            Message(calls=(ONE,)),
            "integer",
            "a type that the template cannot write",
        ),
    ],
)
def test_refusals(format_: TurnFormat, message: Message, words: str, reason: str) -> None:
    with pytest.raises(RefusedMessageError) as refusal:
        format_.write(message)
    assert words in str(refusal.value), reason


def test_a_refused_type_in_a_call_that_is_not_written_is_no_matter() -> None:
    refusing = replace(JSON, refused=frozenset({JsonType.STRING}))
    first = CallFormat((RowSlot.NAME,), refusing, limit=CallLimit.FIRST)
    assert replace(FORMAT, calls=first).write(Message(calls=(ONE, TWO))) == "A:f!"
