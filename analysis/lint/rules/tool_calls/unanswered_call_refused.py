"""A call that nothing answers makes the request fail.

Users interrupt, tools time out, and training data ends with a call. A history in which a call is
not answered cannot be rendered.

Before:

    {%- if messages[loop.index].role != 'tool' %}{{- raise_exception('no result') }}{%- endif %}

After:

    {%- if messages[loop.index].role == 'tool' %}…{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call as the last message, and one that the user's next message follows."""
    called = (subject.user, Message(calls=(subject.call(),)))
    answer = subject.answer(subject.call())
    answered = subject.play((*called, answer), tools=True)
    if not answered.rendered:
        return
    last = subject.play(called, tools=True)
    later = subject.play((*called, subject.next_user), tools=True)
    for render, what in ((last, "is the last message"), (later, "the user's message follows")):
        if render.error is not None:
            message = f"requests fail where a call {what}: {render.reason}"
            yield raising_hit(
                message, render, "not answered", answered, "answered", refused=Severity.INFO
            )
            return


RULE = Rule(
    "AP523",
    "unanswered-call-refused",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    unfixed=NoFix.MEANT,
)
