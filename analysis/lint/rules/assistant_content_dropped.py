from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone, line_that_saw
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import appends, told, went_on
from autoparser.analysis.lint.subject import Subject


@rule("AP305")
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer as the last message and as an earlier one."""
    word = subject.marks.content
    last, later = told(subject), went_on(subject)
    for render, words in (
        (later, "an answer is not in the prompt once a user message follows"),
        (last, "an answer is not in the text that ends with it"),
    ):
        if render.rendered and render.text.strip() and not render.holds(word):
            # Who leaves out the question as well shows no history on purpose.
            meant = subject.marks.user not in render.text or not appends(subject)
            yield Hit(
                words,
                (alone(render, "a conversation with an answer"),),
                line=line_that_saw(render, word),
                severity=Severity.WARNING if meant else None,
            )
            return
