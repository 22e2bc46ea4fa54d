from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_reasoned
from autoparser.analysis.lint.subject import Subject


@rule("AP401")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for an answer's reasoning before and after the next user message."""
    word = subject.marks.reasoning
    last, later = render_reasoned(subject)
    if word in last.text and later.rendered and word not in later.text:
        yield Hit(
            "the reasoning of an answer is dropped after the next user message",
            (compare_renders(last, "as the last message", later, "before another message"),),
            line=last.line_of(word),
        )
