"""What a prompt has already written of the message, whether turns have a header or not."""

from __future__ import annotations

from functools import cache

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.parsing.parsed_message import DeltaKind

from .loop import TOOLS, analysis_of, disagreement, gaps, streamed

HEADERLESS = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ '[Q]' + m.content + '[/Q]' }}
    {%- elif m.role == 'assistant' %}
        {%- if m.reasoning_content %}{{ '[MUSE]' + m.reasoning_content + '[/MUSE]' }}{% endif %}
        {{- m.content or '' }}
        {%- for c in m.tool_calls or [] %}
            {{- '[DO]' + c.function.name + '[WITH]' + c.function.arguments | tojson }}
        {%- endfor %}
        {{- '[END]' }}
    {%- elif m.role == 'tool' %}{{ '[R]' + m.content + '[/R]' }}
    {%- endif %}
{%- endfor %}
"""


@cache
def headerless() -> Analysis:
    return analyze(ChatTemplate(HEADERLESS))


@pytest.mark.parametrize(
    ("prefilled", "text", "reasoning", "content", "calls"),
    [
        ("", "[MUSE]Hm.[/MUSE]Hi.[END]", "Hm.", "Hi.", []),
        ("[MUSE]", "Hm.[/MUSE]Hi.[END]", "Hm.", "Hi.", []),
        ("[MUSE]Let me ", "see.[/MUSE]Hi.[END]", "see.", "Hi.", []),
        ("[MUSE]Let me [DO] ", "see.[/MUSE]Hi.[END]", "see.", "Hi.", []),
        ("[MUSE]Hm.[/MUSE]Well, ", "hi.[END]", None, "hi.", []),
        ("[DO]", 'get_forecast[WITH]{"city": "Oslo"}[END]', None, None, ["get_forecast"]),
        ("[DO]get_forecast[WITH]", '{"city": "Oslo"}[END]', None, None, ["get_forecast"]),
        ("[DO]get_forecast[WITH]{", '"city": "Oslo"}[END]', None, None, ["get_forecast"]),
    ],
)
def test_without_a_header_a_message_begins_at_what_is_left_open(
    prefilled: str, text: str, reasoning: str | None, content: str | None, calls: list[str]
) -> None:
    parser = headerless().parser(TOOLS, prompt=f"[Q]Hello.[/Q]{prefilled}")
    message = parser.parse(text)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert [call.name for call in message.tool_calls] == calls
    assert all(call.arguments == '{"city": "Oslo"}' for call in message.tool_calls)
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize(
    "prompt",
    [
        "[Q]What does [MUSE] mean?[/Q]",
        "[Q]What does [DO] mean?[/Q]",
        "[Q]Hello.[/Q][MUSE]Hm.[END][Q]And?[/Q]",
        "[Q]Hello.[/Q][MUSE]Hm.[/MUSE]Hi.[END][Q]And?[/Q]",
    ],
)
def test_what_others_wrote_leaves_nothing_open(prompt: str) -> None:
    message = headerless().parser(TOOLS, prompt=prompt).parse("Hi.[END]")
    assert (message.reasoning_content, message.content) == (None, "Hi.")


@pytest.mark.parametrize(
    ("prefilled", "text", "content"),
    [
        ("It is\n", "so.", "so."),
        ("It is\n", "\nso.", "\nso."),
        ("It is \n", "<tool", "<tool"),
        ("It is <", "b>", "b>"),
        ("It is <tool", "tip>", "tip>"),
        ("It is", "\nso.", "\nso."),
    ],
)
def test_what_the_prompt_wrote_is_not_content(prefilled: str, text: str, content: str) -> None:
    name = "j1-json-in-tags"
    analysis = analysis_of(name)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header + prefilled)
    message = parser.parse(text)
    assert message.content == content
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))


def test_a_call_that_the_prompt_began_is_told_whole() -> None:
    parser = headerless().parser(TOOLS, prompt="[Q]Hello.[/Q][DO]get_forecast[WITH]{")
    found = streamed(parser, ['"city": ', '"Oslo"}', "[END]"])
    assert found.deltas[0].kind is DeltaKind.CALL
    assert found.calls == {0: ("get_forecast", '{"city": "Oslo"}')}
