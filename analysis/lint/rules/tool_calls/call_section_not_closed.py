"""The section of calls is closed behind several calls, and not behind one.

A single call, the usual case, is left open in the history. The model reads turns that never end
their calls, and writes on behind them.

Before:

    {%- for call in calls %}{%- if loop.first %}<calls>{{- call }}
    {%- else %}{{- call }}</calls>{%- endif %}{%- endfor %}

After:

    <calls>{%- for call in calls %}{{- call }}{%- endfor %}</calls>
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.conversation import Message
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import compared
from autoparser.analysis.lint.rule import Need, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compare what stands behind one call with what stands behind two."""
    calls = subject.format.calls
    if calls is None or not calls.later_close.strip():
        return
    both = (subject.call(0), subject.call(1))
    one = subject.play(subject.turn(Message(calls=both[:1])), tools=True)
    two = subject.play(subject.turn(Message(calls=both)), tools=True)
    close = calls.later_close
    if (
        one.rendered
        and two.rendered
        and _behind(two.text, subject.marks.values[1]).find(close) >= 0
        and close not in _behind(one.text, subject.marks.values[0])
    ):
        yield Hit(
            f"behind one call the model does not read {close.strip()!r}, which closes two",
            (compared(one, "one call", two, "two calls"),),
            line=two.line_of(close.strip()),
        )


def _behind(text: str, value: str) -> str:
    return text.rpartition(value)[2]


RULE = Rule(
    "AP522",
    "call-section-not-closed",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="close the section behind the loop, not in it",
)
