from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_earlier, render_two_answers
from autoparser.analysis.lint.subject import Subject


@rule("AP119")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one answer, and two."""
    one, two = render_earlier(subject), render_two_answers(subject)
    if one.rendered and two.error is not None:
        message = f"a second consecutive assistant message {failure_words(two)}"
        yield raising_hit(
            message, (two, "two in a row"), (one, "one answer"), crashed=Severity.ERROR
        )
