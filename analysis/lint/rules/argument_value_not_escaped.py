from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

QUOTES = "\"'"
"""Closing markers that occur in many ordinary strings."""


@rule("AP524")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a value that contains the text between two values."""
    keys, values = subject.marks.keys, subject.marks.values
    two = render_call(subject, **{keys[0]: values[0], keys[1]: values[1]})
    start = two.text.find(values[0])
    end = two.text.find(values[1], start)
    if start < 0 or end < 0:
        return
    # Unless it is escaped, a value that contains the markup between two values reads as two.
    between = two.text[start : end + len(values[1])]
    one = render_call(subject, **{keys[0]: between})
    if not one.rendered or one.text != two.text:
        return
    quote = two.text[start - 1]
    quoted = quote in QUOTES and between.startswith(values[0] + quote)
    what = f"a {quote} in a string" if quoted else "a string that contains its closing marker"
    yield Hit(
        f"{what} ends its argument, because it is not escaped: two different calls can"
        " render identically",
        (compare_renders(one, "one argument", two, "two arguments"),),
        line=one.line_of(between),
        severity=Severity.WARNING if quoted else None,
    )
