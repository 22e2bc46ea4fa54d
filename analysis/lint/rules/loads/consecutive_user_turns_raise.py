"""Two user messages in a row raise.

Clients send them: a file and a question about it, a reminder after the question, a second
message while the first one is still being answered. The request fails although nothing is
ambiguous about it.

Before:

    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate.') }}
    {%- endif %}

After:

    {{- '<|' + message.role + '|>' + message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message, and two."""
    one = subject.play((subject.user,))
    two = subject.play((subject.user, subject.next_user))
    if one.rendered and two.error is not None:
        message = f"a second user message after the first {failed(two)}"
        yield raising_hit(message, two, "two in a row", one, "one user message")


RULE = Rule(
    "AP106",
    "consecutive-user-turns-raise",
    __doc__,
    Severity.WARNING,
    check,
    fix="write each message as it comes, or join those of one role",
    convention=True,
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)
