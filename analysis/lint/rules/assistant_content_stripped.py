from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    cut_edges,
    pad_word,
    render_answer,
    render_earlier,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP301", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer with whitespace at its edges, as the last and as an earlier one."""
    word = subject.marks.content
    message = "whitespace at the {} of assistant content is stripped"
    last = render_answer(subject, pad_word(word)), render_answer(subject)
    later = render_earlier(subject, pad_word(word)), render_earlier(subject)
    yield from cut_edges(word, message, *last)
    yield from cut_edges(word, f"{message} once another message follows", *later)
