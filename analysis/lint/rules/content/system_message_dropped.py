"""A system message is not in the prompt.

Nothing fails: the instructions of the application are just not there, and whoever looks for the
reason looks at the model.

Before:

    {%- if message.role == 'user' %}{{ message.content }}{% endif %}

After:

    {%- if message.role in ['system', 'user'] %}{{ message.content }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import appends
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message after a system message."""
    marks = subject.marks
    led = subject.play((subject.user,), system=marks.system, generation=True)
    if led.rendered and marks.user in led.text and marks.system not in led.text:
        bare = subject.play((subject.user,), generation=True)
        # One that changes the prompt is read as something else than words to the model.
        plain = appends(subject) and bare.text == led.text
        yield Hit(
            "a system message is dropped: the model never sees it",
            (compared(led, "with a system message", bare, "without"),),
            line=parting_line(led, bare),
            severity=None if plain else Severity.WARNING,
        )


RULE = Rule(
    "AP310",
    "system-message-dropped",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="write the system message, or refuse it with raise_exception",
    unfixed=NoFix.MEANT,
)
