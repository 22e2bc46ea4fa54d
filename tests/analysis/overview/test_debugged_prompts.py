"""Conversations that a template is debugged with: their prompts, and what switches change."""

from __future__ import annotations

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview.debugged_prompts import (
    ANY_TEXT,
    DebuggedConversation,
    switched_renders,
)

TEMPLATE = ChatTemplate(
    "{{ persona or '' }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
ANSWERED = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})


def test_any_text_is_a_value_of_a_switch_and_a_prompt_follows_where_it_is_asked_for() -> None:
    for asked, prompt in ((None, ""), (True, "<assistant>")):
        conversation = DebuggedConversation("own", ANSWERED, generation_prompt=asked)
        found = switched_renders(TEMPLATE, analyze(TEMPLATE).switches, conversation)
        assert f"{ANY_TEXT}<user>a<assistant>b{prompt}" in [render.trace.prompt for render in found]
