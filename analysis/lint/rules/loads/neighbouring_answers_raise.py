"""Two messages of the assistant in a row raise.

Clients send them: an API that returns a text and a call as two items, an answer that was cut off
and gone on with, an agent's remark before its report. The request fails although nothing is
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

from autoparser.analysis.lint.chats import went_on
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.neighbours import neighbouring_answers
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render one answer, and two."""
    one, two = went_on(subject), neighbouring_answers(subject)
    if one.rendered and two.error is not None:
        message = f"a second message of the assistant after the first {failed(two)}"
        yield raising_hit(message, two, "two in a row", one, "one answer", crashed=Severity.ERROR)


RULE = Rule(
    "AP119",
    "neighbouring-answers-raise",
    __doc__,
    Severity.WARNING,
    check,
    fix="write each message as it comes, or join those of one role",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)
