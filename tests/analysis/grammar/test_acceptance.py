"""The place of a refusal and the texts allowed there: by bytes, by tokens, in both dialects.

Accepted texts, and complete markers that are refused, are tested in `tests/cli/uses`.
"""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.offers import STRICT

from .tokens import byte_tokenizer

CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
TOKENS = byte_tokenizer(MARKERS)


def _called(arguments: str) -> str:
    return CALL.replace("list_rooms", "get_weather").replace("{}", arguments)


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize(
    ("text", "refused", "argument", "allowed"),
    [
        (CALL.replace("list_", "lsit_"), "s", "", ('ist_rooms", "arguments": {}}\n</tool_call>',)),
        (CALL[:-3], None, "", ("ll>",)),
        (f"{CALL}x", "x", "", ('\n<tool_call>\n{"name": "',)),
        ("Well é <think>", ">", "", ()),
        (_called('{"city": "Oslo", "days": "2"}'), '"', "days", tuple("123456789")),
        (_called('{"city": 5, "days": 2}'), "5", "city", ('"',)),
        # Between two arguments, no argument is named.
        (_called('{"city": "Oslo"; "days": 2}'), ";", "", (', "',)),
        (_called('{"days": 2}'), "d", "", ('city": "',)),
    ],
)
def test_refused_text_reports_place_argument_and_allowed_texts(
    dialect: GrammarDialect, text: str, refused: str | None, argument: str, allowed: tuple[str, ...]
) -> None:
    # Nothing follows a required call.
    choice = "required" if text.endswith("x") else "auto"
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT, tool_choice=choice)
    found = grammar.accepts(text, dialect=dialect)
    assert not found.accepted
    assert (found.refused, found.argument, found.allowed) == (refused, argument, allowed)
    # An answer may end after its calls, and within free text.
    assert found.may_end is (text.endswith("x") or not allowed)
    assert found.tokens == len(text.encode())
    assert len(text[: found.place].encode()) == found.taken
    assert text[found.place :].startswith(refused or "")


def test_acceptance_follows_the_tokenizers_tokens() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    found = grammar.accepts(CALL.replace("{}", '{"a": 1}'), TOKENS)
    assert (found.refused, found.part, found.call) == ('"', SpanKind.ARGUMENTS, "list_rooms")
    assert found.allowed == ("}}\n</tool_call>",)
    assert grammar.accepts(f"{CALL}<|im_end|>", TOKENS).accepted
    # Only the marker's token opens a call: in other tokens it is text.
    assert not grammar.accepts(CALL[:-1], TOKENS).accepted


def test_acceptance_is_true_if_the_text_is_accepted() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    for dialect in ("lark", "gbnf"):
        assert grammar.accepts(CALL, dialect=dialect)
        assert not grammar.accepts(CALL.replace("{}", '{"a": 1}'), dialect=dialect)


def test_unknown_dialect_error_lists_the_known_ones() -> None:
    wrong: Any = "gbfn"
    with pytest.raises(RequestError, match=r"dialect: .*did you mean gbnf.*lark, gbnf"):
        analysis_of("j1-json-in-tags").grammar(STRICT).accepts(CALL, dialect=wrong)


def test_second_text_reuses_the_vocabulary() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    assert grammar.accepts(CALL, TOKENS)
    known = tokenizer_of(tokenizer_of(TOKENS), eos=[*grammar.stop_strings])
    assert {"vocab_size", "ll"} <= vars(known).keys()


def test_refused_argument_between_tags_is_named() -> None:
    grammar = analysis_of("a1-function-parameter").grammar(STRICT)
    text = (
        "Hm.\n</think>\n\n<tool_call>\n<function=book_room>\n<parameter=room>\nR1\n</parameter>\n"
        "<parameter=price>\ntwo\n</parameter>\n</function>\n</tool_call>"
    )
    found = grammar.accepts(text)
    assert (found.refused, found.argument, found.call) == ("t", "price", "book_room")
