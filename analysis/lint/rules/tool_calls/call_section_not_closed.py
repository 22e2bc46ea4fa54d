"""The section of calls is closed after several calls, and not after one.

A single call, the usual case, is left open in the history. The model reads turns that never end
their calls, and writes on after them.

Before:

    {%- for call in calls %}{%- if loop.first %}<calls>{{- call }}
    {%- else %}{{- call }}</calls>{%- endif %}{%- endfor %}

After:

    <calls>{%- for call in calls %}{{- call }}{%- endfor %}</calls>
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compare what stands after one call with what stands after two."""
    calls = subject.format.calls
    if calls is None or not calls.later_close.strip():
        return
    close, both = calls.later_close, (subject.call(0), subject.call(1))
    answers = tuple(subject.answer(call) for call in both)
    one, two = (
        subject.play((subject.user, Message(calls=both[:count]), *answers[:count]), tools=True)
        for count in (1, 2)
    )
    # With the result after it, too: it might be closed only there.
    if one.rendered and two.rendered and close in two.text and close not in one.text:
        yield Hit(
            f"after one call the model does not read {close.strip()!r}, which closes two",
            (compared(one, "one call", two, "two calls"),),
            line=two.line_of(close.strip()),
        )


RULE = Rule(
    "AP522",
    "call-section-not-closed",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="close the section after the loop, not in it",
    mends=(MendedFault(FaultKind.UNCLOSED),),
    concerns=(Concern.ENGINES,),
)
