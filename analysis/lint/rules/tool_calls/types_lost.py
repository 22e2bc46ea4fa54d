"""The string "42" and the number 42 are written alike.

Nothing is wrong with that, but who reads calls back needs the tools' schemas to know which it
was; and where a parameter may be either, nobody can tell.

Before:

    {{- key + '=' + value | string }}

After:

    {{- key + '=' + value | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.format import JsonType
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling


def check(subject: Subject) -> Iterator[Hit]:
    """Render a number and the same digits as a string."""
    marks = subject.marks
    key = marks.typed_keys[JsonType.INTEGER]
    number = calling(subject, **{key: marks.integer})
    string = calling(subject, **{key: str(marks.integer)})
    if number.rendered and number.text == string.text and str(marks.integer) in number.text:
        yield Hit(
            "a number and a string of its digits are written alike: a parser needs the schema",
            (compared(number, "a number", string, "a string"),),
            line=number.line_of(str(marks.integer)),
        )


RULE = Rule(
    "AP514", "types-lost", __doc__, Severity.INFO, check, needs=Need.CALLS, unfixed=NoFix.NOTATION
)
