from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    lost_edges,
    pad_word,
    render_answer,
    render_last_call,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP404")
def check(subject: Subject) -> Iterator[Hit]:
    """Render reasoning with whitespace at its edges, before content and before a call."""
    word = subject.marks.reasoning
    pairs = [
        (render_answer(subject, reasoning=pad_word(word)), render_answer(subject, reasoning=word))
    ]
    if subject.format.calls is not None:
        pairs.append(
            (
                render_last_call(subject, reasoning=pad_word(word)),
                render_last_call(subject, reasoning=word),
            )
        )
    for render, plain in pairs:
        lost = lost_edges(render.text, word)
        if lost:
            yield Hit(
                f"whitespace at the {lost} of the reasoning is cut off",
                (compare_renders(render, "with whitespace", plain, "without"),),
                line=render.line_of(word),
            )
            return
