from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import cut_edges, pad_word, render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP303")
def check(subject: Subject) -> Iterator[Hit]:
    """Render content with whitespace at its edges beside a call."""
    word = subject.marks.content
    pair = render_last_call(subject, pad_word(word)), render_last_call(subject, word)
    message = "whitespace at the {} of content before a call is stripped"
    yield from cut_edges(word, message, *pair)
