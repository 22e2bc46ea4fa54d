"""Where a text is refused, and what was allowed there: by bytes, by tokens, in both dialects."""

from __future__ import annotations

import pytest

from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.parsing.text_tape import SpanKind
from tests.analysis.parsing.loop import analysis_of

from .offers import STRICT
from .tokens import byte_tokenizer

CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
TOKENS = byte_tokenizer(MARKERS)


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize(
    ("text", "refused", "allowed", "may_end"),
    [
        (
            CALL.replace("list_", "lsit_"),
            "s",
            ('ist_rooms", "arguments": {}}\n</tool_call>',),
            False,
        ),
        (CALL[:-3], None, ("ll>",), False),
        (f"{CALL}x", "x", ('\n<tool_call>\n{"name": "', "<|im_end|>"), True),
        ("Well é <think>", ">", (), True),
    ],
)
def test_where_a_text_is_refused(
    dialect: GrammarDialect, text: str, refused: str | None, allowed: tuple[str, ...], may_end: bool
) -> None:
    found = analysis_of("j1-json-in-tags").grammar(STRICT).accepts(text, dialect=dialect)
    assert not found.accepted
    assert (found.refused, found.allowed, found.may_end) == (refused, allowed, may_end)
    assert found.tokens == len(text.encode())
    assert len(text[: found.place].encode()) == found.taken
    assert text[found.place :].startswith(refused or "")


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize("text", ["Hi.", CALL, f"Look.\n{CALL}<|im_end|>\n"])
def test_an_accepted_text_is_taken_whole(dialect: GrammarDialect, text: str) -> None:
    found = analysis_of("j1-json-in-tags").grammar(STRICT).accepts(text, dialect=dialect)
    assert found.accepted
    assert (found.taken, found.place) == (found.tokens, len(text))


def test_tokens_are_those_of_the_tokenizer() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    found = grammar.accepts(CALL.replace("{}", '{"a": 1}'), TOKENS)
    assert (found.refused, found.part, found.call) == ('"', SpanKind.ARGUMENTS, "list_rooms")
    assert found.allowed == ("}}\n</tool_call>",)
    assert grammar.accepts(f"{CALL}<|im_end|>", TOKENS).accepted
    # The marker's token alone opens a call: cut in another way it is no call.
    assert not grammar.accepts(CALL[:-1], TOKENS).accepted


def _called(arguments: str) -> str:
    return CALL.replace("list_rooms", "get_weather").replace("{}", arguments)


@pytest.mark.parametrize(
    ("text", "argument", "allowed"),
    [
        (_called('{"city": "Oslo", "days": "2"}'), "days", tuple("123456789")),
        (_called('{"city": 5, "days": 2}'), "city", ('"',)),
        # Between two arguments none is being written.
        (_called('{"city": "Oslo"; "days": 2}'), "", (', "',)),
        (_called('{"days": 2}'), "", ('city": "',)),
        (CALL.replace("list_", "lost_"), "", ('ist_rooms", "arguments": {}}\n</tool_call>',)),
    ],
)
def test_the_argument_is_named_whose_value_is_refused(
    text: str, argument: str, allowed: tuple[str, ...]
) -> None:
    found = analysis_of("j1-json-in-tags").grammar(STRICT).accepts(text)
    assert (found.argument, found.allowed) == (argument, allowed)


def test_the_argument_is_named_where_tags_hold_it() -> None:
    grammar = analysis_of("a1-function-parameter").grammar(STRICT)
    text = (
        "Hm.\n</think>\n\n<tool_call>\n<function=book_room>\n<parameter=room>\nR1\n</parameter>\n"
        "<parameter=price>\ntwo\n</parameter>\n</function>\n</tool_call>"
    )
    found = grammar.accepts(text)
    assert (found.refused, found.argument, found.call) == ("t", "price", "book_room")


def test_a_marker_that_may_not_stand_in_text_is_named() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT, tool_choice="none")
    found = grammar.accepts(f"Look. {CALL}")
    assert (found.refused, found.completes) == (">", "<tool_call>")
    assert not grammar.accepts("<tool_call").completes
