"""Reasoning is dropped in a tool loop that still runs.

The model reasons, calls, and no longer sees why when the result comes. It starts to reason anew
at every call: slower, worse, and with nothing left in the prefix cache.

Before:

    {%- if loop.last %}{{ '<thought>' + message.reasoning_content + '</thought>' }}{% endif %}

After:

    {%- if loop.index0 > last_user %}
        {{- '<thought>' + message.reasoning_content + '</thought>' }}
    {%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.chats import called, told
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for a call's reasoning after the answer to the call."""
    if subject.format.calls is None:
        return
    word, call = subject.marks.reasoning, subject.call()
    message = Message(reasoning=word, calls=(call,))
    running = subject.play((subject.user, message, subject.answer(call)), tools=True)
    if not running.rendered or word in running.text or call.name not in running.text:
        return
    before = called(subject, reasoning=word)
    shown = word in before.text
    if not shown:
        before = told(subject, reasoning=word)
    what = "is dropped when the result of the call comes" if shown else "is never written"
    yield Hit(
        f"the reasoning of a message that calls a tool {what}",
        (compared(running, "with the result", before, "where it is written"),),
        line=before.line_of(word),
    )


RULE = Rule(
    "AP402",
    "reasoning-dropped-in-running-tool-loop",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.REASONING,
    fix="keep the reasoning of every message after the last user message",
    covers=("AP403",),
    mends=(
        MendedFault(FaultKind.LOST, Voice.REASONING),
        MendedFault(FaultKind.REWRITTEN),
    ),
    concerns=(Concern.TRAINING, Concern.CACHE),
)
