from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP523", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call as the last message, and one before the next user message."""
    answered = subject.play(subject.loop, tools=True)
    if not answered.rendered:
        return
    called = subject.loop[:2]
    last = subject.play(called, tools=True)
    later = subject.play((*called, subject.next_user), tools=True)
    for render, condition in ((last, "it is the last message"), (later, "a user message follows")):
        if render.error is not None:
            message = f"fails on an unanswered call, if {condition}: {render.reason}"
            yield raising_hit(
                message, (render, "not answered"), (answered, "answered"), refused=Severity.INFO
            )
