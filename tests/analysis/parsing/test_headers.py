"""Headers in other words than the template's: channels, recipients, openers written twice."""

from __future__ import annotations

import json
from functools import cache

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status

from .loop import TOOLS, disagreement, gaps

CHANNELS = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ '@@user@@' + m.content + '##eom##' }}
    {%- elif m.role == 'assistant' %}
        {%- if m.reasoning_content %}
            {{- '@@bot@@%%lane%%inner%%text%%' + m.reasoning_content + '##eom##' }}
        {%- endif %}
        {%- for c in m.tool_calls or [] %}
            {{- '@@bot@@ for tool.' + c.function.name + '%%lane%%work code%%text%%' }}
            {{- c.function.arguments | tojson + '##eom##' }}
        {%- else %}
            {{- '@@bot@@%%lane%%outer%%text%%' + (m.content or '') + '##eom##' }}
        {%- endfor %}
    {%- elif m.role == 'tool' %}{{ '@@tool@@' + m.content + '##eom##' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '@@bot@@' }}{% endif %}
"""
"""Channels in signs of our own: a header again before each block, the recipient in the role."""

INSIDE = CHANNELS.replace(
    "@@bot@@ for tool.' + c.function.name + '%%lane%%work code%%text%%'",
    "@@bot@@%%lane%%work for tool.' + c.function.name + ' code%%text%%'",
)
"""The same, the recipient in the channel."""

WORDED = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ '{|user|}' + m.content + '{|done|}' }}
    {%- elif m.role == 'assistant' %}
        {{- '{|bot|}' + (m.content or '') }}
        {%- for c in m.tool_calls or [] %}
            {{- '{|run|}' + c.function.name + '{|as|}plain text{|with|}' }}
            {{- c.function.arguments | tojson + '{|ran|}' }}
        {%- endfor %}
        {{- '{|done|}' }}
    {%- elif m.role == 'tool' %}{{ '{|tool|}' + m.content + '{|done|}' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '{|bot|}' }}{% endif %}
"""
"""Words between two markers after a call's name, and no channels."""

THOUGHTS = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ '{|user|}' + m.content + '{|done|}' }}
    {%- elif m.role == 'assistant' %}
        {{- '{|bot|}' }}
        {%- if m.reasoning_content %}
            {{- '{|open|}musing\\n' + m.reasoning_content + '{|shut|}' }}
        {%- endif %}
        {{- (m.content or '') + '{|done|}' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '{|bot|}' }}{% endif %}
"""
"""A channel that has a word of its own, and shares its marker with nothing."""

OSLO = ("get_forecast", {"city": "Oslo"})
ARGS = '{"city": "Oslo"}'


@cache
def analysis_of(source: str) -> Analysis:
    return analyze(ChatTemplate(source))


def parsed(source: str, text: str, *, complete: bool = True) -> ParsedMessage:
    """Parse what follows the header; every way of cutting must agree."""
    parser: OutputParser = analysis_of(source).parser(TOOLS)
    message = parser.parse(text, complete=complete)
    assert not gaps(message.spans, text)
    for size in (1, 2, 3, 7):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert not disagreement(parser, text, pieces, complete=complete)
    return message


def calls(message: ParsedMessage) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


@pytest.mark.parametrize("source", [CHANNELS, INSIDE, WORDED, THOUGHTS])
def test_the_templates_are_understood(source: str) -> None:
    check = analysis_of(source).check
    assert check.passed == check.total


IN_ROLE = (
    " for tool.get_forecast%%lane%%work code%%text%%",
    " for tool.get_forecast%%lane%%work%%text%%",
    " for tool.get_forecast%%lane%%work %%kind%%json%%text%%",
    " for tool.get_forecast%%lane%%work%%kind%%json%%text%%",
    " for tool.get_forecast%%lane%%inner json%%text%%",
    " for tool.get_forecast%%text%%",
    " for tool.get_forecast%%lane%%work code%%text%%%%text%%",
)
IN_CHANNEL = (
    "%%lane%%work for tool.get_forecast code%%text%%",
    "%%lane%%work for tool.get_forecast%%kind%%json%%text%%",
    "%%lane%%inner for tool.get_forecast%%text%%",
    "%%lane%%outer for tool.get_forecast %%kind%%json%%text%%",
    "%%lane%%work for tool.get_forecast%%lane%%work%%text%%",
)


@pytest.mark.parametrize(
    ("source", "header"),
    [(CHANNELS, each) for each in (*IN_ROLE, *IN_CHANNEL)]
    + [(INSIDE, each) for each in IN_CHANNEL],
)
def test_a_recipient_may_stand_anywhere_in_a_header(source: str, header: str) -> None:
    for before in ("", "%%lane%%inner%%text%%Hm.##eom##@@bot@@"):
        message = parsed(source, f"{before}{header}{ARGS}##eom##")
        assert calls(message) == [OSLO]
        assert message.content is None
        assert message.reasoning_content == ("Hm." if before else None)
        assert message.status is Status.OK


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        ("%%lane%%preface%%text%%Hi.##eom##", None, "Hi."),
        ("%%lane%%%%text%%Hi.##eom##", None, "Hi."),
        ("%%lane%%inner %%kind%%plain%%text%%Hm.##eom##", "Hm.", None),
        ("%%lane%%innermost%%text%%Hi.##eom##", None, "Hi."),
        ("%%lane%%preface%%text%%Hi.##eom##@@bot@@%%lane%%outer%%text%% Ho.", None, "Hi. Ho."),
        ("%%lane%%work for all%%lane%%inner%%text%%Hm.##eom##", "Hm.", None),
        ("%%lane%%outer%%text%%%%lane%%outer%%text%%Hi.##eom##", None, "Hi."),
        ("%%lane%%outer%%text%%%%text%%Hi.##eom##", None, "Hi."),
        ("%%lane%%inner%%text%%%%text%%Hm.##eom##", "Hm.", None),
        ("%%lane%%inner%%text%%%%lane%%inner%%text%%Hm.##eom##", "Hm.", None),
        ("@@bot@@%%lane%%outer%%text%%Hi.##eom##", None, "Hi."),
    ],
)
@pytest.mark.parametrize("source", [CHANNELS, INSIDE])
def test_unknown_words_open_content(
    source: str, text: str, reasoning: str | None, content: str | None
) -> None:
    message = parsed(source, text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert message.tool_calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "Write %%lane%%preface%%text%% there",
        "Write %%lane%%work for tool.get_forecast%%text%%{} there",
        "%%lane%% is a word",
    ],
)
@pytest.mark.parametrize("source", [CHANNELS, INSIDE])
def test_only_where_a_header_may_stand_words_are_one(source: str, text: str) -> None:
    assert parsed(source, f"%%lane%%outer%%text%%{text}").content == text


def test_a_header_has_an_end() -> None:
    long = "%%lane%%" + "word " * 100 + "%%text%%Hi."
    assert parsed(CHANNELS, long).content == long


@pytest.mark.parametrize("end", ["##eom##", ""])
def test_a_header_that_heads_nothing_is_junk(end: str) -> None:
    message = parsed(CHANNELS, f"%%lane%%??{end}@@bot@@%%lane%%outer%%text%%Hi.")
    assert (message.content, message.status) == ("Hi.", Status.STRAY)


def test_a_header_of_a_call_that_heads_nothing_stays_readable() -> None:
    text = "%%lane%%work for tool.get_forecast {}"
    assert parsed(CHANNELS, f"{text}##eom##").content == text


@pytest.mark.parametrize("role", ["@@bot@@--work", "@@bot@@ as bot", "@@bot@@@@bot@@"])
def test_words_behind_a_role_do_not_stop_the_call_behind_them(role: str) -> None:
    text = f"%%lane%%inner%%text%%Hm.##eom##{role}%%lane%%work for tool.get_forecast%%text%%"
    message = parsed(CHANNELS, f"{text}{ARGS}##eom##")
    assert (calls(message), message.content) == ([OSLO], None)


def test_a_header_before_what_opens_content_is_not_of_the_reasoning() -> None:
    message = parsed(CHANNELS, "%%lane%%inner%%text%%Hm.@@bot@@%%lane%%outer%%text%%Hi.")
    assert (message.reasoning_content, message.content) == ("Hm.", "Hi.")


@pytest.mark.parametrize("text", ["%%lane%%outer", " for tool.get_forecast%%lane%%work"])
def test_a_header_that_was_cut_is_no_content(text: str) -> None:
    message = parsed(CHANNELS, f"%%lane%%inner%%text%%Hm.##eom##@@bot@@{text}", complete=False)
    assert (message.reasoning_content, message.content) == ("Hm.", None)
    assert (message.tool_calls, message.status) == ((), Status.CUT)


@pytest.mark.parametrize(
    "words", ["{|as|}plain text{|with|}", "{|as|}json{|with|}", "{|as|}{|with|}", " json{|with|}"]
)
def test_words_behind_a_name_may_be_others(words: str) -> None:
    for again in ("", "{|with|}"):
        text = f"Hi.{{|run|}}get_forecast{words}{again}{ARGS}{{|ran|}}{{|done|}}"
        message = parsed(WORDED, text)
        assert (calls(message), message.content) == ([OSLO], "Hi.")


@pytest.mark.parametrize(
    "text",
    [
        "{|run|}get_forecast and{|done|}",
        "{|run|}no_such_tool{|as|}json{|with|}{}{|ran|}{|done|}",
        "{|run|}get_forecast" + " word" * 50 + "{|with|}{}{|ran|}{|done|}",
    ],
)
def test_words_behind_anything_else_make_no_call(text: str) -> None:
    assert parsed(WORDED, text).tool_calls == ()


@pytest.mark.parametrize(
    ("text", "reasoning"),
    [
        ("{|open|}musing\nHm.{|shut|}Hi.{|done|}", "Hm."),
        ("{|open|}\nHm.{|shut|}Hi.{|done|}", "Hm."),
        ("{|open|}Hm.{|shut|}Hi.{|done|}", "Hm."),
        ("{|open|}musing\n{|open|}musing\nHm.{|shut|}Hi.{|done|}", "Hm."),
        ("{|bot|}{|open|}musing\nHm.{|shut|}Hi.{|done|}", "Hm."),
    ],
)
def test_a_channel_without_its_word_is_still_the_channel(text: str, reasoning: str) -> None:
    message = parsed(THOUGHTS, text)
    assert (message.reasoning_content, message.content) == (reasoning, "Hi.")
