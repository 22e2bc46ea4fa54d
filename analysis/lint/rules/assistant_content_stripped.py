from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import lost_edges, pad_word, render_answer, went_on
from autoparser.analysis.lint.subject import Subject


@rule("AP301")
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer with whitespace at its edges, as the last and as an earlier one."""
    word = subject.marks.content
    for render, plain, when in (
        (render_answer(subject, pad_word(word)), render_answer(subject), ""),
        (went_on(subject, pad_word(word)), went_on(subject), " once another message follows"),
    ):
        lost = lost_edges(render.text, word)
        if lost:
            yield Hit(
                f"whitespace at the {lost} of what the model said is cut off{when}",
                (compare_renders(render, "with whitespace", plain, "without"),),
                line=render.line_of(word),
            )
            return
