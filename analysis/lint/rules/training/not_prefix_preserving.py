"""A tool's result changes the turn that the model is trained on.

Reinforcement learning with tools samples a call, appends the result and samples on; the tokens of
the whole are trained on. That is right only if the conversation with the result begins with the
conversation without it: trainers check it, and refuse a template that fails.

Before:

    {{- '<assistant>' + call }}{%- if loop.last %}</s>{%- endif %}

After:

    {{- '<assistant>' + call }}</s>
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Append a result to a call without arguments, with a generation prompt after it."""
    marks = subject.marks
    call = ToolCall(marks.names[0], {}, marks.ids[0])
    called: Dialogue = (subject.user, Message(calls=(call,)))
    before = subject.play(called)
    after = subject.play((*called, subject.answer(call)), generation=True)
    if before.rendered and after.rendered and not after.text.startswith(before.text):
        yield Hit(
            "trainers that append a tool's result to what was sampled refuse this template",
            (compared(before, "a call", after, "a call and its result"),),
            line=before.line_at(prefix_length(before.text, after.text)),
        )


RULE = Rule(
    "AP704",
    "not-prefix-preserving",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write a call alike whatever comes later",
    mends=(
        MendedFault(FaultKind.REWRITTEN),
        MendedFault(FaultKind.LEFT_OUT),
    ),
    concerns=(Concern.TRAINING,),
)
