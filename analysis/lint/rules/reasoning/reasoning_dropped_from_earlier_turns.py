"""Reasoning is dropped once the next user message comes.

The prefix cache ends at the last answer: the turn was written with its reasoning and is rendered
without it. Often meant so, to save context; then a switch should say it.

Before:

    {%- if loop.last %}{{ '<thought>' + message.reasoning_content + '</thought>' }}{% endif %}

After:

    {{ '<thought>' + message.reasoning_content + '</thought>' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import told, went_on
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for an answer's reasoning before and after the next user message."""
    word = subject.marks.reasoning
    last, later = told(subject, reasoning=word), went_on(subject, reasoning=word)
    if word in last.text and later.rendered and word not in later.text:
        yield Hit(
            "the reasoning of an answer is dropped when the next user message comes",
            (compared(last, "as the last message", later, "before another message"),),
            line=last.line_of(word),
        )


RULE = Rule(
    "AP401",
    "reasoning-dropped-from-earlier-turns",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.REASONING,
    fix="keep the reasoning, or drop it only where a switch says so",
    covers=("AP403",),
    mends=(MendedFault(FaultKind.LEFT_OUT),),
    convention=True,
    concerns=(Concern.TRAINING, Concern.CACHE),
)
