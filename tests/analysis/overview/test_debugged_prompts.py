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


def test_free_text_switch_accepts_any_value() -> None:
    for asked, prompt in ((None, ""), (True, "<assistant>")):
        conversation = DebuggedConversation("own", ANSWERED, generation_prompt=asked)
        found = switched_renders(TEMPLATE, analyze(TEMPLATE).switches, conversation)
        assert f"{ANY_TEXT}<user>a<assistant>b{prompt}" in [render.trace.prompt for render in found]
