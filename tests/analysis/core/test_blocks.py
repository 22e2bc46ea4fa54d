"""What opens and closes reasoning and content: one answer, for parser, view and all others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autoparser import ChatTemplate, TurnFormat, analyze
from tests.analysis.tiny import turn

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"
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


@cache
def _format(name: str) -> TurnFormat:
    if name == "planned":
        return analyze(PLANNED).format
    path = TEMPLATES / f"{name}.jinja"
    return analyze(ChatTemplate(path.read_text(encoding="utf-8"), name=name)).format


@pytest.mark.parametrize(
    ("name", "opening", "others", "close", "reason"),
    [
        (
            "t2-recipient-header",
            "<|channel|>final<|message|>",
            ["<|channel|>preamble<|message|>"],
            "",
            "what opens an answer that stands alone opens content, not what is longer beside calls",
        ),
        (
            "j2-2-tags-around-content",
            "",
            ["<|code_start|>"],
            "<|code_end|>",
            "nothing opens an answer that stands alone, tags do beside calls",
        ),
        (
            "t8-3-id-name-arguments",
            "<|content|>",
            [],
            "<|end|>",
            "what ends a turn also stands between content and calls: it closes content",
        ),
        ("planned", "<say>", [], "</say>", "the end of the turn is not what closes content"),
    ],
)
def test_content(name: str, opening: str, others: list[str], close: str, reason: str) -> None:
    block = _format(name).content
    assert block.open.core == opening, reason
    assert [each.core for each in block.others] == others, reason
    assert block.close.core == close, reason


def test_the_section_of_the_calls_does_not_hide_what_closes_reasoning() -> None:
    # Each turn of calls has `</plan><acts>` before them, so to the section it all opens the calls.
    block = _format("planned").reasoning
    assert block is not None
    assert (block.open.core, block.close.core) == ("<plan>", "</plan>")


@pytest.mark.parametrize(
    ("prompt", "missing"),
    [("U:hi<bot><plan>", ""), ("U:hi<bot>", None), ("<plan> and more", None)],
)
def test_a_prompt_opens_reasoning_at_its_very_end(prompt: str, missing: str | None) -> None:
    block = _format("planned").reasoning
    assert block is not None
    assert block.opened_by(prompt) == missing
