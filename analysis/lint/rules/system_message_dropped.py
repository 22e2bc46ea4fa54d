from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import appends_answer
from autoparser.analysis.lint.subject import Subject


@rule("AP310")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message after a system message."""
    marks = subject.marks
    led = subject.play((subject.user,), system=marks.system, generation=True)
    if led.rendered and marks.user in led.text and marks.system not in led.text:
        bare = subject.play((subject.user,), generation=True)
        # A system message that changes the prompt is used for something other than instructions.
        plain = appends_answer(subject) and bare.text == led.text
        yield Hit(
            "a system message is not in the prompt",
            (compare_renders(led, "with a system message", bare, "without"),),
            line=parting_line(led, bare),
            severity=None if plain else Severity.WARNING,
        )
