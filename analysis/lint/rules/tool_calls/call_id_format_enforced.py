"""Calls are refused whose id has another form than the template wants.

Each engine makes ids of its own form. A history that came from another one, or from OpenAI,
cannot be rendered.

Before:

    {%- if call.id | length != 9 %}{{- raise_exception('ids have 9 characters') }}{%- endif %}

After:

    {{- call.id }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject

MADE = "call_Ab12Cd34Ef56Gh78Ij90Kl12"
"""An id in the form in which OpenAI makes them."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call and its answer with an id of nine letters, and with one of that form."""
    call = subject.call()
    other = ToolCall(call.name, call.arguments, MADE)
    plain, made = (
        subject.play((subject.user, Message(calls=(each,)), subject.answer(each)), tools=True)
        for each in (call, other)
    )
    if made.error is not None and plain.rendered:
        message = f"requests fail whose calls have ids like {MADE}: {made.reason}"
        words = "an id as chat APIs make them", "an id of nine letters"
        yield raising_hit(message, made, words[0], plain, words[1])


RULE = Rule(
    "AP518",
    "call-id-format-enforced",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="take any id",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)
