"""Reasoning is written only beside tool calls.

Good to know for whoever trains on conversations: the reasoning before plain answers is not in
the text, so the model is not trained on it.

Before:

    {%- if message.tool_calls %}{{ message.reasoning_content }}{% endif %}

After:

    {{ message.reasoning_content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called, told
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for reasoning before content, and before a call."""
    if subject.format.calls is None:
        return
    word = subject.marks.reasoning
    beside_content, beside_call = told(subject, reasoning=word), called(subject, reasoning=word)
    if beside_content.rendered and word not in beside_content.text and word in beside_call.text:
        yield Hit(
            "reasoning is written before tool calls, and not before an answer",
            (compared(beside_content, "before an answer", beside_call, "before a call"),),
            line=beside_call.line_of(word),
        )


RULE = Rule(
    "AP406",
    "reasoning-only-in-tool-loops",
    __doc__,
    Severity.INFO,
    check,
    needs=Need.REASONING,
    fix="write the reasoning before the last answer, too",
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.MEANT,
)
