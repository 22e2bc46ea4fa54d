"""Content is dropped when the message also calls a tool.

What the model said before it called is not in the next prompt. The model does not see that it
has already explained itself, and the prefix cache ends at that message.

Before:

    {%- if message.tool_calls %}…{%- else %}{{ message.content }}{%- endif %}

After:

    {{ message.content }}{%- if message.tool_calls %}…{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a message with content and a call, and the same message without its content."""
    marks, call = subject.marks, subject.call()
    both = subject.play(subject.turn(Message(marks.content, calls=(call,))), tools=True)
    bare = subject.play(subject.turn(Message(calls=(call,))), tools=True)
    if both.rendered and call.name in both.text and marks.content not in both.text:
        yield Hit(
            "the model does not see what it said beside its call",
            (compared(both, "with content", bare, "without content"),),
            line=both.line_of(marks.values[0]),
        )


RULE = Rule(
    "AP306",
    "content-dropped-beside-calls",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write the content before the calls, whether there are calls or not",
    mends=(MendedFault(FaultKind.LOST, Voice.PREFACE),),
    concerns=(Concern.TRAINING,),
)
