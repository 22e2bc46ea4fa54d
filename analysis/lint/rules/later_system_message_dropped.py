from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compare_renders, failure_words, line_of_the_lost
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP314")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a system message first, and before the last user message."""
    marks, shape = subject.marks, subject.shape
    system = role_message("system", shape.user_text(marks.system))
    chat = shape.messages(subject.chat)
    first = subject.render([system, *chat], generation=True)
    later = subject.render([*chat[:-1], system, chat[-1]], generation=True)
    if marks.system not in first.text or marks.system in later.text:
        return
    error = later.error
    what = "is dropped" if error is None else failure_words(later)
    yield Hit(
        f"a system message in the middle of a conversation {what}",
        (compare_renders(later, "in the middle", first, "as the first message"),),
        line=line_of_the_lost(later, first, marks.system),
        severity=None if error is None or not error.refused else Severity.INFO,
        cause=later.cause,
    )
