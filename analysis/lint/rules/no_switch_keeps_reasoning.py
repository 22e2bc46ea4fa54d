from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_reasoned
from autoparser.analysis.lint.subject import Subject


@rule("AP407")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for a switch that keeps reasoning which the history drops."""
    retention = subject.format.retention
    dropped = retention.next_user is False or retention.answered_loop is False
    if not dropped or any(
        SwitchEffect.HISTORY_REASONING in switch.changes for switch in subject.analysis.switches
    ):
        return
    word = subject.marks.reasoning
    last, later = render_reasoned(subject)
    yield Hit(
        "reasoning is dropped from history, and no template variable keeps it",
        (compare_renders(last, "as the last message", later, "before another message"),),
        line=last.line_of(word),
    )
