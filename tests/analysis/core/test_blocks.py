"""What opens and closes reasoning and content: one answer, for parser, view and all others."""

from __future__ import annotations

from autoparser import analyze
from tests.analysis.tiny import turn
from tests.fixture_analyses import analyzed

PLANNED = turn(
    "{% if m.tool_calls %}<plan>{{ m.reasoning_content or '' }}</plan><acts>"
    "{% for c in m.tool_calls %}"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}'
    "{% endfor %}</acts>{% else %}<say>{{ m.content }}</say>{% endif %}",
    opening="<bot>",
    end="<over>",
    prompt="<bot>",
)
"""Reasoning shows only before calls, and a turn of calls has its block even without any."""


def test_content_is_opened_and_closed() -> None:
    # What opens an answer that stands alone opens content, not what is longer beside calls.
    final, preamble = "<|channel|>final<|message|>", "<|channel|>preamble<|message|>"
    for name, opening, others, close in (
        ("t2-recipient-header", final, [preamble], ""),
        ("j2-2-tags-around-content", "", ["<|code_start|>"], "<|code_end|>"),
        # What ends a turn also stands between content and calls: it closes content.
        ("t8-3-id-name-arguments", "<|content|>", [], "<|end|>"),
    ):
        block = analyzed(name).format.content
        assert (block.open.core, block.close.core) == (opening, close)
        assert [each.core for each in block.others] == others


def test_the_section_of_the_calls_does_not_hide_what_closes_reasoning() -> None:
    format_ = analyze(PLANNED).format
    # Each turn of calls has `</plan><acts>` before them, so to the section it all opens the calls.
    block = format_.reasoning
    assert block is not None
    assert (block.open.core, block.close.core) == ("<plan>", "</plan>")
    # The end of the turn does not close content.
    assert (format_.content.open.core, format_.content.close.core) == ("<say>", "</say>")
