from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.rule_conversations import appends_answer
from autoparser.analysis.lint.subject import Subject

TURNS = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"

TABLE = [
    (TURNS, True, "a chat"),
    (TURNS + "{% if messages[-1].role == 'user' %}<|end|>{% endif %}", True, "an end gives way"),
    (TURNS + "Judge the last {{ messages[-1].role }} message.", False, "a text about the chat"),
]


@pytest.mark.parametrize(("template", "expected", "reason"), TABLE)
def test_answers_are_appended(template: str, expected: bool, reason: str) -> None:
    assert appends_answer(Subject(ChatTemplate(template))) is expected, reason
