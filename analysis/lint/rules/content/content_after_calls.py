"""What the model said before its call is written after it.

The model speaks first and calls then; in the history it is the other way round. It learns to
call before it explains, and the prefix cache ends at the first of the two.

Before:

    {% for call in message.tool_calls %}…{% endfor %}{{ message.content }}

After:

    {{ message.content }}{% for call in message.tool_calls %}…{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """See where the content of a message with a call comes to stand."""
    word = subject.marks.content
    render = called(subject, word)
    start = render.text.rfind(subject.marks.user)
    turn = render.text[max(start, 0) :]
    value = turn.find(subject.marks.values[0])
    if -1 < value < turn.find(word):
        yield Hit(
            "what the model said before its call is written after the call",
            (alone(render, "content and a call"),),
            line=render.line_of(word) or render.line_of(subject.marks.values[0]),
        )


RULE = Rule(
    "AP307",
    "content-after-calls",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write the content before the calls",
    unfixed=NoFix.NOTATION,
)
