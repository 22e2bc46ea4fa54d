"""Formats in which what closes a value is also the text of something else."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Status
from tests.analysis.parsing.loop import analysis_of

from .proofs import grammar_for, request_for
from .tokens import byte_tokenizer, guidance
from .walks import decoder, gbnf_decoder, refusal

STRING: Json = {"type": "string"}
FIXTURES: dict[str, Json] = {
    "attributes": {"type": "string", "pattern": "^\\S+$"},
    # GBNF holds no pattern where a string has no quotes.
    "names-are-tags": STRING,
}
"""In the first, HTML's text of a quote closes an argument; in the second, what closes an argument
of the name `a` ends the turn, too."""


@pytest.mark.parametrize("target", ["lark", "gbnf"])
@pytest.mark.parametrize(("name", "shaped"), FIXTURES.items(), ids=FIXTURES)
@pytest.mark.parametrize(
    "given", [{"a": "x"}, {"b": "2&3<4"}, {"a": "it's; #3", "b": "y"}], ids=str
)
def test_what_the_template_writes_is_taken_and_read(
    name: str, shaped: Json, given: dict[str, Json], target: str
) -> None:
    parameters: Json = {"type": "object", "properties": {"a": STRING, "b": shaped}}
    tool: Json = {"name": "book", "parameters": parameters}
    format_ = analysis_of(f"../novel/{name}").format
    turn = format_.write(Message(calls=(ToolCall("book", given),)))
    request, begun = request_for(format_, turn, [tool])
    grammar = grammar_for(format_, request)
    make = decoder if target == "lark" else gbnf_decoder
    loaded = make(grammar, byte_tokenizer(), guidance())
    assert refusal(loaded, turn[begun:]) == ""
    (call,) = OutputParser(grammar.turn, offered=frozenset({"book"})).parse(turn[begun:]).tool_calls
    assert (call.status, json.loads(call.arguments)) == (Status.OK, given)
