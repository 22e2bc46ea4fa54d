"""Reasoning that nothing closes: what in it is a call, what ends it, and what is text."""

from __future__ import annotations

import json
from functools import cache

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import DeltaKind, ParsedMessage, Status

from .loop import TOOLS, analysis_of, disagreement, gaps, streamed

TEMPLATE = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ '{|user|}' + m.content + '{|done|}' }}
    {%- elif m.role == 'assistant' %}
        {{- '{|bot|}' }}
        {%- if m.reasoning_content %}
            {{- '(muse)\\n' + m.reasoning_content + '\\n(/muse)\\n' }}
        {%- endif %}
        {{- '(reply)' + (m.content or '') + '(/reply)' }}
        {%- for c in m.tool_calls or [] %}
            {{- '(call)' + {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}
            {{- '(/call)' }}
        {%- endfor %}
        {{- '{|done|}' }}
    {%- elif m.role == 'tool' %}{{ '{|tool|}' + m.content + '{|done|}' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '{|bot|}(muse)\\n' }}{% endif %}
"""

CALL = '(call){"name": "get_forecast", "arguments": {"city": "Oslo"}}(/call)'
OSLO = ("get_forecast", {"city": "Oslo"})


@cache
def analysis() -> Analysis:
    return analyze(ChatTemplate(TEMPLATE))


def parser(*, keep: bool = False) -> OutputParser:
    return analysis().parser(TOOLS, unclosed_reasoning="keep" if keep else "calls")


def parsed(text: str, *, complete: bool = True, keep: bool = False) -> ParsedMessage:
    """Parse what follows the prompt; every way of cutting must agree."""
    reader = parser(keep=keep)
    message = reader.parse(text, complete=complete)
    assert not gaps(message.spans, text)
    for size in (1, 2, 3, 7, 40):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert not disagreement(reader, text, pieces, complete=complete)
    return message


def calls(message: ParsedMessage) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


def test_the_template_is_understood() -> None:
    check = analysis().check
    assert check.passed == check.total


@pytest.mark.parametrize("end", ["", "{|done|}"])
@pytest.mark.parametrize("space", ["", "\n"])
def test_a_whole_call_is_one_where_nothing_closes_the_reasoning(end: str, space: str) -> None:
    message = parsed(f"Hm.{space}{CALL}{end}")
    assert (message.reasoning_content, message.content) == ("Hm.", None)
    assert calls(message) == [OSLO]


def test_it_may_be_one_of_several_openings() -> None:
    message = parsed(f"I write (call) and then.\n{CALL}{CALL}{{|done|}}")
    assert message.reasoning_content == "I write (call) and then."
    assert calls(message) == [OSLO, OSLO]


@pytest.mark.parametrize(
    "text",
    [
        "I could write (call) here",
        'Perhaps (call){"name": "get_forecast", "arguments": {"city"',
        'Perhaps (call){"name": "no_such_tool", "arguments": {}}(/call)',
        "Perhaps (call)now(/call)",
    ],
)
@pytest.mark.parametrize("end", ["", "{|done|}"])
def test_anything_else_stays_reasoning(text: str, end: str) -> None:
    message = parsed(text + end)
    assert (message.reasoning_content, message.content) == (text, None)
    assert message.tool_calls == ()


@pytest.mark.parametrize("size", [6, 20, 40, len(CALL)])
def test_what_was_cut_has_not_come_to_its_end(size: int) -> None:
    message = parsed(f"Hm.\n{CALL[:size]}", complete=False)
    assert (message.reasoning_content, message.tool_calls) == ("Hm.", ())
    assert message.status is Status.CUT
    message = parsed(f"Hm.\n{CALL} or", complete=False)
    assert (message.reasoning_content, message.tool_calls) == (f"Hm.\n{CALL} or", ())


@pytest.mark.parametrize("keep", [False, True])
def test_a_call_in_closed_reasoning_is_text(keep: bool) -> None:
    text = f"Hm.\n{CALL}\nor so\n(/muse)\n(reply)Hi.(/reply){CALL}{{|done|}}"
    message = parsed(text, keep=keep)
    assert message.reasoning_content == f"Hm.\n{CALL}\nor so"
    assert (message.content, calls(message)) == ("Hi.", [OSLO])


def test_all_of_it_may_be_kept() -> None:
    message = parsed(f"Hm.\n{CALL}{{|done|}}", keep=True)
    assert (message.reasoning_content, message.tool_calls) == (f"Hm.\n{CALL}", ())
    message = parsed("Hm. (reply)Hi.(/reply){|done|}", keep=True)
    assert (message.reasoning_content, message.content) == ("Hm. (reply)Hi.(/reply)", None)


def test_what_opens_content_ends_reasoning() -> None:
    for before in ("", "Hm.", f"Hm. {CALL}"):
        message = parsed(f"{before}(reply)Hi.(/reply){{|done|}}")
        assert (message.reasoning_content, message.content) == (before or None, "Hi.")
        assert message.status is Status.OK
        assert message.tool_calls == ()


@pytest.mark.parametrize("behind", ["", "\n", "{|done|}", "\n{|bot|}"])
def test_an_end_counts_before_nothing_an_end_or_a_header(behind: str) -> None:
    message = parsed(f"Hm.{{|done|}}{behind}")
    assert (message.reasoning_content, message.content) == ("Hm.", None)
    assert message.status is Status.OK


def test_the_header_of_another_role_is_one() -> None:
    parser = analysis_of("j1-json-in-tags").parser(TOOLS)
    message = parser.parse("<think>\nHm.<|im_end|>\n<|im_start|>user\nAnd?")
    assert (message.reasoning_content, message.content) == ("Hm.", None)


def test_an_end_in_the_middle_is_text() -> None:
    message = parsed("I end with {|done|} as ever.\n(/muse)\n(reply)Hi.(/reply){|done|}")
    assert message.reasoning_content == "I end with {|done|} as ever."
    assert message.content == "Hi."
    message = parsed(f"I end with {{|done|}} as ever. {CALL}{{|done|}}")
    assert message.reasoning_content == "I end with {|done|} as ever. "
    assert calls(message) == [OSLO]


def test_text_is_held_from_the_call_on_alone() -> None:
    stream = parser().stream()
    assert "".join(delta.text for delta in stream.feed("Hm, let me see. ")) == "Hm, let me see. "
    assert stream.feed(f"{CALL} and ") == []
    closed = stream.feed("more.\n(/muse)\n")
    assert [delta.kind for delta in closed] == [DeltaKind.REASONING]
    assert closed[0].text == f"{CALL} and more."


def test_long_reasoning_is_held_in_pieces() -> None:
    text = "Hm. (call)" + " word" * 20_000 + "\n(/muse)\n(reply)Hi.(/reply){|done|}"
    found = streamed(parser(), [text[at : at + 5] for at in range(0, len(text), 5)])
    assert found.message == parser().parse(text)
    assert found.content == "Hi."


STEPS = """
{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {{- '{|bot|}' }}
        {%- if m.reasoning_content %}{{ m.reasoning_content + '\\n(answer)\\n' }}{% endif %}
        {{- m.content + '{|done|}' }}
    {%- else %}{{ '{|user|}' + m.content + '{|done|}' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '{|bot|}My steps are these:\\n' }}{% endif %}
"""


@pytest.mark.parametrize(
    ("prompt", "text", "reasoning", "content"),
    [
        (None, "First I look.\n(answer)\nHi.{|done|}", "First I look.", "Hi."),
        (None, "First I look.{|done|}", "First I look.", None),
        ("{|user|}Hi{|done|}{|bot|}My steps are these:\n", "So.\n(answer)\nHi.", "So.", "Hi."),
        ("{|bot|}My steps are these:\nNone.\n(answer)\n", "Hi.{|done|}", None, "Hi."),
        ("{|bot|}", "Hi.{|done|}", "Hi.", None),
    ],
)
def test_a_prompt_that_begins_the_steps_itself_has_opened_reasoning(
    prompt: str | None, text: str, reasoning: str | None, content: str | None
) -> None:
    parser = analyze(ChatTemplate(STEPS)).parser(prompt=prompt)
    message = parser.parse(text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert not disagreement(parser, text, list(text))


def test_a_prompt_in_its_own_words_opens_no_reasoning_that_signs_open() -> None:
    signed = STEPS.replace("{{ m.reasoning_content +", "{{ '>>' + m.reasoning_content +")
    message = analyze(ChatTemplate(signed)).parser().parse("Hi.{|done|}")
    assert (message.reasoning_content, message.content) == (None, "Hi.")
