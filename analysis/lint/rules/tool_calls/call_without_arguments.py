"""A call without arguments fails, or is not written.

A tool that takes nothing is called with an empty object; some engines send an empty text or
leave the key out.

Before:

    {%- if call.function.arguments %}{{- call.function | tojson }}{%- endif %}

After:

    {{- call.function | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call with an empty object, and with the same in its other forms."""
    usual = subject.play(subject.turn(Message(calls=(subject.call(),))), tools=True)
    empty = calling(subject)
    name = subject.marks.names[0]
    if not usual.rendered:
        return
    evidence = (compared(empty, "without arguments", usual, "with one argument"),)
    if empty.error is not None:
        yield Hit(
            f"requests fail whose history has a call without arguments: {empty.reason}",
            evidence,
            line=empty.error.line,
            severity=Severity.WARNING if empty.error.refused else None,
            cause=empty.cause,
        )
    elif empty.text.count(name) < usual.text.count(name):
        yield Hit("a call without arguments is not in the prompt", evidence)


RULE = Rule(
    "AP525",
    "call-without-arguments",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write a call whether it has arguments or not",
    mends=(MendedFault(FaultKind.CALL_LOST),),
    concerns=(Concern.ENGINES,),
)
