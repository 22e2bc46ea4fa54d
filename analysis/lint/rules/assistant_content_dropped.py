from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import line_that_saw, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    appends_answer,
    render_answer,
    render_earlier,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP305", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer as the last message and as an earlier one."""
    word = subject.marks.content
    last, later = render_answer(subject), render_earlier(subject)
    once = " once a user message follows" if last.holds(word) else ""
    for render, words in (
        (later, f"an answer is not in the prompt{once}"),
        (last, "an answer is not in a conversation that ends with it"),
    ):
        if render.rendered and render.text.strip() and not render.holds(word):
            # A template that also omits the question shows no history on purpose.
            meant = subject.marks.user not in render.text or not appends_answer(subject)
            yield Hit(
                words,
                (show_render(render, "a conversation with an answer"),),
                line=line_that_saw(render, word),
                severity=Severity.WARNING if meant else None,
            )
