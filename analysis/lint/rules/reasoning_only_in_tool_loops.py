from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP406")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for reasoning before content, and before a call."""
    if subject.format.calls is None:
        return
    word = subject.marks.reasoning
    beside_content, beside_call = (
        render_answer(subject, reasoning=word),
        render_last_call(subject, reasoning=word),
    )
    if beside_content.rendered and word not in beside_content.text and word in beside_call.text:
        yield Hit(
            "reasoning is rendered before tool calls, but not before an answer",
            (compare_renders(beside_content, "before an answer", beside_call, "before a call"),),
            line=beside_call.line_of(word),
        )
