"""Conversations that a template is debugged with: their prompts, and what switches change."""

from __future__ import annotations

import pytest
import yaml

from autoparser import AutoparserError, ChatTemplate, analyze
from autoparser.analysis.overview.debugged_prompts import (
    DebuggedConversation,
    shipped_conversations,
    switched_renders,
)

TEMPLATE = ChatTemplate(
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{{ '<think>' if thinking }}{% endif %}"
)
ASKED = {"role": "user", "content": "a"}
ANSWERED = {"role": "assistant", "content": "b"}


def test_a_generation_prompt_follows_unless_the_model_is_last() -> None:
    for messages, prompt, text in (
        ((ASKED,), None, "<user>a<assistant>"),
        ((ASKED, ANSWERED), None, "<user>a<assistant>b"),
        ((ASKED, ANSWERED), True, "<user>a<assistant>b<assistant>"),
        ((ASKED,), False, "<user>a"),
    ):
        conversation = DebuggedConversation("own", messages, generation_prompt=prompt)
        assert conversation.trace(TEMPLATE).prompt == text


def test_each_value_of_a_switch_is_rendered() -> None:
    switches = analyze(TEMPLATE).switches
    found = list(switched_renders(TEMPLATE, switches, DebuggedConversation("own", (ASKED,))))
    texts = {repr(each.value): each.trace.prompt for each in found}
    assert texts["True"] == "<user>a<assistant><think>"
    assert {each.name for each in found} == {"thinking"}


def test_a_shipped_conversation_is_written_and_read_again() -> None:
    for each in shipped_conversations():
        again = each.edited(yaml.safe_load(each.as_yaml()), each.name)
        assert (again.messages, again.tools) == (each.messages, each.tools)
        with pytest.raises(AutoparserError, match="own"):
            each.edited({"messages": 1}, "own")
