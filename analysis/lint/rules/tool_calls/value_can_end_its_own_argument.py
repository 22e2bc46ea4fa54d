"""A string in a call may hold what closes it, and then reads as more arguments than one.

Values are pasted between tags without escapes. Code that quotes this very format, or a hostile
document that the model copies from, changes what the call says.

Before:

    {{- '<arg name=' + key + '>' + value + '</arg>' }}

After:

    {{- arguments | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.arguments import calling
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import compared
from autoparser.analysis.lint.rule import Need, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Put what stands between two values into one value."""
    keys, values = subject.marks.keys, subject.marks.values
    two = calling(subject, **{keys[0]: values[0], keys[1]: values[1]})
    start = two.text.find(values[0])
    end = two.text.find(values[1], start)
    if start < 0 or end < 0:
        return
    between = two.text[start : end + len(values[1])]
    one = calling(subject, **{keys[0]: between})
    if one.rendered and one.text == two.text:
        yield Hit(
            "one string argument can be written just like two arguments: what closes a value is"
            " not escaped in it",
            (compared(one, "one argument", two, "two arguments"),),
            line=one.line_of(between),
        )


RULE = Rule(
    "AP524",
    "value-can-end-its-own-argument",
    __doc__,
    Severity.INFO,
    check,
    needs=Need.CALLS,
)
