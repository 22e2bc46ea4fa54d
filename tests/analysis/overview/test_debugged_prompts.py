"""Conversations that a template is debugged with: their prompts, and what switches change."""

from __future__ import annotations

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview.debugged_prompts import (
    ANY_TEXT,
    DebuggedConversation,
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


def test_each_value_of_a_switch_is_rendered_and_any_text_where_one_is_written() -> None:
    conversation = DebuggedConversation("own", (ASKED,))
    found = list(switched_renders(TEMPLATE, analyze(TEMPLATE).switches, conversation))
    texts = {repr(each.value): each.trace.prompt for each in found}
    assert texts["True"] == "<user>a<assistant><think>"
    inserted = ChatTemplate("{{ persona or '' }}" + TEMPLATE.text)
    named = list(switched_renders(inserted, analyze(inserted).switches, conversation))
    assert f"{ANY_TEXT}<user>a<assistant>" in [each.trace.prompt for each in named]
