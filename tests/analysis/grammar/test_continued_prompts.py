"""Grammars after prompts that continue the assistant's message, cut at every character."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from autoparser import Grammar, Message, OpaqueTokens, SpanKind, ToolCall
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.turn_rules import text_without_end
from tests.analysis.parsing.loop import analysis_of
from tests.case_tables import case_tables, load_cases
from tests.offers import tool

table = case_tables(__file__, "continued_prompts.yaml")
TOOLS = (tool("book", {"room": {"type": "string"}}, "room"),)
NAMED = {"type": "function", "function": {"name": "book"}}
CALL = ToolCall("book", {"room": "R1"}, "abcDEF123")
HERMES = "j1-json-in-tags"
PROMPT = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
BOOK = '<tool_call>\n{"name": "book", "arguments": {"room": "R1"}}\n</tool_call>'
THOUGHT = "<think>\nHm.\n</think>\n\n"


@dataclass(frozen=True)
class Cut:
    """A prompt that stops in the text of a message, and the rest of the template's turn."""

    prompt: str
    rest: str
    choices: tuple[Any, ...]


def _cuts(name: str) -> Iterator[Cut]:
    """Return a cut after every character of reasoning and content."""
    analysis = analysis_of(name)
    writer = analysis.turns(TOOLS)
    for reasoning in ("Hm.", ""):
        for calls in ((CALL,), ()):
            turn = writer.written_turn(Message("Ok.", reasoning, calls))
            if turn.continuation is None:
                continue
            text = text_without_end(analysis.format.end_literals, turn.continuation)
            choices = ("required", NAMED, "auto") if calls else ("none", "auto")
            for span in analysis.parser(TOOLS, prompt=turn.prompt).parse(text).spans:
                if span.kind in (SpanKind.REASONING, SpanKind.CONTENT):
                    for at in range(span.start + 1, span.end + 1):
                        yield Cut(turn.prompt + text[:at], text[at:], choices)


def _grammar(name: str, prompt: str, choice: object) -> Grammar:
    return analysis_of(name).grammar(TOOLS, tool_choice=choice, prompt=prompt)


@pytest.mark.parametrize("name", load_cases(__file__, "continued_prompts.yaml")["cut"])
def test_rest_of_a_turn_is_accepted_after_every_cut(name: str) -> None:
    cuts = [*_cuts(name)]
    assert len(cuts) >= 6
    for cut in cuts:
        for choice in cut.choices:
            grammar = _grammar(name, cut.prompt, choice)
            for dialect in GrammarDialect:
                accepted = grammar.accepts(cut.rest, dialect=dialect).accepted
                assert accepted, (cut.prompt, cut.rest, choice, dialect)


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize("begun", ["Sure", f"{THOUGHT}Sure", "<think>\n\n</think>\n\nSure"])
@table("begun")
def test_begun_content_continues_and_opens_no_reasoning(
    choice: str, rest: str, expected: bool, begun: str, dialect: GrammarDialect
) -> None:
    grammar = _grammar(HERMES, PROMPT + begun, choice)
    assert grammar.accepts(rest, dialect=dialect).accepted is expected


@pytest.mark.parametrize("choice", ["required", "none", "auto"])
@pytest.mark.parametrize("begun", ["<think>\nHm.", "<think>\nHm.\n"])
def test_begun_reasoning_is_closed_by_its_marker(begun: str, choice: str) -> None:
    grammar = _grammar(HERMES, PROMPT + begun, choice)
    rest = BOOK if choice == "required" else "Sure."
    assert grammar.accepts(f"\n</think>\n\n{rest}").accepted
    assert grammar.accepts(f" I see.\n</think>\n\n{rest}").accepted
    assert not grammar.accepts(rest).accepted
    after, close = grammar.after_reasoning()
    assert close == "</think>"
    assert after.accepts(f"\n\n{rest}").accepted


@table("inside_markup")
@pytest.mark.parametrize("form", ["lark", "gbnf", "ebnf", "structural_tag"])
def test_prompt_that_ends_inside_markup_is_refused(begun: str, reason: str, form: str) -> None:
    grammar = _grammar(HERMES, PROMPT + begun, "required")
    arguments = (OpaqueTokens(),) if form == "lark" else ()
    with pytest.raises(GrammarError, match=reason) as raised:
        getattr(grammar, form)(*arguments)
    assert raised.value.place == "the end of the prompt"
    assert "generation prompt" in (raised.value.hint or "")


@pytest.mark.parametrize("begun", ["<|end|>", "<|end|><|start|>assis"])
def test_prompt_that_ends_between_headers_is_refused(begun: str) -> None:
    header = analysis_of("t8-3-id-name-arguments").format.header
    prompt = f"{header}<|think|>Hm.{begun}"
    with pytest.raises(GrammarError, match="between two parts"):
        _grammar("t8-3-id-name-arguments", prompt, "auto").gbnf()


def test_prompt_that_begins_the_json_answer_is_refused() -> None:
    grammar = analysis_of(HERMES).grammar(
        json_schema={"type": "object"}, prompt=f'{PROMPT}{{"answer": '
    )
    with pytest.raises(GrammarError, match="begun the JSON"):
        grammar.gbnf()


def test_longer_prompts_share_one_grammar() -> None:
    def rows(size: int) -> set[int]:
        prompts = (f"{PROMPT}{'word ' * count}end" for count in range(1, size))
        grammars = [_grammar(HERMES, prompt, "required") for prompt in prompts]
        return {id(grammar.turn.strict) for grammar in grammars}

    assert len(rows(40)) == 1
