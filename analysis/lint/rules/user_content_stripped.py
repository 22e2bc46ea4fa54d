from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import UserMessage
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import cut_edges, pad_word
from autoparser.analysis.lint.subject import Subject


@rule("AP302")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with whitespace at its edges."""
    word = subject.marks.user
    render = subject.play((UserMessage(pad_word(word)),), generation=True)
    plain = subject.play((subject.user,), generation=True)
    message = "whitespace at the {} of user content is stripped"
    yield from cut_edges(word, message, render, plain)
