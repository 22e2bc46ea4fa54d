"""A system message in the middle of a conversation is not in the prompt, or raises.

Agents send reminders, changed instructions and summaries as system messages once a conversation
runs. A template that looks only at the first message leaves them out without a word.

Before:

    {%- if loop.first and message.role == 'system' %}{{ message.content }}{% endif %}

After:

    {%- if message.role == 'system' %}{{ message.content }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.chats import said
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.parting_line import line_of_the_lost
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a system message first, and before the last user message."""
    marks, shape = subject.marks, subject.shape
    system = said("system", shape.user_text(marks.system))
    chat = shape.messages((subject.user, Message(marks.content), subject.next_user))
    setting = subject.usual_setting
    first = subject.render([system, *chat], generation=True, setting=setting)
    later = subject.render([*chat[:-1], system, chat[-1]], generation=True, setting=setting)
    if marks.system not in first.text or marks.system in later.text:
        return
    error = later.error
    what = "is dropped" if error is None else failed(later)
    yield Hit(
        f"a system message in the middle of a conversation {what}",
        (compared(later, "in the middle", first, "as the first message"),),
        line=line_of_the_lost(later, first, marks.system),
        severity=None if error is None or not error.refused else Severity.INFO,
        cause=later.cause,
    )


RULE = Rule(
    "AP314",
    "later-system-message-dropped",
    __doc__,
    Severity.WARNING,
    check,
    fix="write system messages where they stand",
    unfixed=NoFix.MEANT,
)
