"""Whitespace around what the model said before a call is cut off.

Models end such a text with a line break or two. Without them the call stands elsewhere than the
model wrote it, and the prefix cache ends there in every tool loop.

Before:

    {{ message.content | trim }}{% for call in message.tool_calls %}…{% endfor %}

After:

    {{ message.content }}{% for call in message.tool_calls %}…{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.edges import lost_edges, padded
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render content with whitespace at its edges beside a call."""
    word = subject.marks.content
    render = called(subject, padded(word))
    lost = lost_edges(render.text, word)
    if lost:
        yield Hit(
            f"whitespace at the {lost} of what the model said beside a call is cut off",
            (compared(render, "with whitespace", called(subject, word), "without"),),
            line=render.line_of(word),
        )


RULE = Rule(
    "AP303",
    "content-stripped-before-call",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write the content as it is",
    mends=(MendedFault(FaultKind.STRIPPED, Voice.PREFACE),),
    convention=True,
    concerns=(Concern.TRAINING, Concern.CACHE),
)
