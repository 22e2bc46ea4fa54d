"""Arguments are written in another order than the call has them.

The model wrote them in one order and reads them in another: the prefix cache ends at the call,
and a model that reasons through its arguments in turn is shown a call it would not write.

Before:

    {%- for key, value in arguments | dictsort %}…{%- endfor %}

After:

    {%- for key, value in arguments.items() %}…{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling


def check(subject: Subject) -> Iterator[Hit]:
    """Render the same arguments in two orders."""
    marks = subject.marks
    pairs = list(zip(marks.keys[:2], marks.values[:2], strict=True))
    one, other = calling(subject, **dict(pairs)), calling(subject, **dict(reversed(pairs)))
    if one.rendered and one.text == other.text and marks.values[0] in one.text:
        yield Hit(
            "a call's arguments are sorted: the model reads them in an order in which it did not"
            " write them",
            (compared(one, "one order", other, "the other order"),),
            line=one.line_of(marks.values[0]),
        )


RULE = Rule(
    "AP510",
    "argument-order-changed",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write the arguments in the order in which they are given",
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.NOTATION,
)
