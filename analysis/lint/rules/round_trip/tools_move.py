"""The tools stand before the last user message, wherever that is.

With each question the definitions of the tools move, which are often the longest part of a
prompt: all that was computed after their old place is lost.

Before:

    {%- if loop.last and message.role == 'user' %}{{- tools | tojson }}{%- endif %}

After:

    {%- if tools %}{{- tools | tojson }}{%- endif %}{%- for message in messages %}…{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """See where the tools stand in one question and in two."""
    marks = subject.marks
    one = subject.play((subject.user,), tools=True)
    two = subject.play((subject.user, Message(marks.content), subject.next_user), tools=True)
    name = marks.names[0]
    if not (one.rendered and two.rendered and name in one.text and name in two.text):
        return
    before = one.text.find(name) < one.text.find(marks.user)
    answer = two.text.find(marks.content)
    if two.text.find(name) > answer > 0 and (before or one.text.find(name) > 0):
        yield Hit(
            "each question moves the definitions of the tools to the end of the conversation",
            (compared(one, "one question", two, "two questions"),),
            line=two.line_of(name),
        )


RULE = Rule(
    "AP607",
    "tools-move",
    __doc__,
    Severity.WARNING,
    check,
    fix="write the tools before the first message",
    covers=("AP609",),
    concerns=(Concern.CACHE,),
    unfixed=NoFix.MEANT,
)
