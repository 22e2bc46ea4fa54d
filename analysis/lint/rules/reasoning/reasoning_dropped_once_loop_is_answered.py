"""Reasoning is dropped from a tool loop once the next user message comes.

The whole loop, often the longest part of a conversation, is rendered anew without it, so the
prefix cache ends before its first call.

Before:

    {%- if loop.index0 > last_user %}{{ message.reasoning_content }}{% endif %}

After:

    {{ message.reasoning_content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for a call's reasoning in the loop, and after the next user message."""
    if subject.format.calls is None:
        return
    word, call = subject.marks.reasoning, subject.call()
    message = Message(reasoning=word, calls=(call,))
    loop: Dialogue = (subject.user, message, subject.answer(call))
    running = subject.play(loop, tools=True)
    over = subject.play((*loop, Message(subject.marks.content), subject.next_user), tools=True)
    if word in running.text and over.rendered and word not in over.text:
        yield Hit(
            "the reasoning of a tool loop is dropped when the next user message comes",
            (compared(running, "while the loop runs", over, "after another message"),),
            line=running.line_of(word),
        )


RULE = Rule(
    "AP403",
    "reasoning-dropped-once-loop-is-answered",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.REASONING,
    fix="keep the reasoning, or drop it only where a switch says so",
    mends=(MendedFault(FaultKind.LEFT_OUT),),
    convention=True,
    concerns=(Concern.TRAINING, Concern.CACHE),
)
