from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    cut_edges,
    pad_word,
    render_answer,
    render_last_call,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP404", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render reasoning with whitespace at its edges, before content and before a call."""
    word = subject.marks.reasoning
    renderers = (render_answer, render_last_call)[: 2 if subject.format.calls is not None else 1]
    message = "whitespace at the {} of the reasoning is stripped"
    for render in renderers:
        padded, plain = (render(subject, reasoning=text) for text in (pad_word(word), word))
        yield from cut_edges(word, message, padded, plain)
