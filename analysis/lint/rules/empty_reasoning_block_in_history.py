from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_earlier
from autoparser.analysis.lint.subject import Subject


@rule("AP408", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search turns without reasoning for its two markers with nothing between them."""
    markers = subject.analysis.markers
    opening, close = markers.reasoning_start, markers.reasoning_end
    if not opening or not close:
        return
    for render, when in (
        (render_answer(subject), "as the last message"),
        (render_earlier(subject), "in the history"),
    ):
        _, _, turn = render.text.rpartition(subject.marks.user)
        before, found, after = turn.partition(opening)
        if found and after.lstrip().startswith(close) and subject.marks.content not in before:
            reasoned = render_answer(subject, reasoning=subject.marks.reasoning)
            yield Hit(
                "an answer without reasoning is rendered with an empty"
                f" {quote_text(opening + close)} {when}",
                (compare_renders(render, "without reasoning", reasoned, "with reasoning"),),
                line=render.line_of(opening),
            )
