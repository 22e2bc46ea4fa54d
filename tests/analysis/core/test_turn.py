"""Calls and whole turns, written by formats that are put together by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import ContainerNotation, Row, RowSlot, json_notation
from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_format import EdgeStrip, StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat

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
