from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP510")
def check(subject: Subject) -> Iterator[Hit]:
    """Render the same arguments in two orders."""
    marks = subject.marks
    pairs = list(zip(marks.keys[:2], marks.values[:2], strict=True))
    one, other = render_call(subject, **dict(pairs)), render_call(subject, **dict(reversed(pairs)))
    if one.rendered and one.text == other.text and marks.values[0] in one.text:
        yield Hit(
            "a call's arguments are rendered in sorted order, not in the order of the call",
            (compare_renders(one, "one order", other, "the other order"),),
            line=one.line_of(marks.values[0]),
        )
