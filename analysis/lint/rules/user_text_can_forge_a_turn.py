from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import UserMessage
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_earlier
from autoparser.analysis.lint.subject import Subject


@rule("AP309")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message that spells two of them and an answer."""
    marks = subject.marks
    meant = render_earlier(subject)
    start, end = meant.text.find(marks.user), meant.text.rfind(marks.next_user)
    if min(start, end) < 0 or marks.content not in meant.text[start:end]:
        return
    forged = subject.play((UserMessage(meant.text[start:end] + marks.next_user),))
    if forged.text == meant.text:
        yield Hit(
            "a user's text that contains the markers renders like separate turns",
            (compare_renders(forged, "one user message", meant, "three messages"),),
            line=forged.line_at(start),
        )
