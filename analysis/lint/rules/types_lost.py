from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP514")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a number and the same digits as a string."""
    marks = subject.marks
    key = marks.typed_keys[JsonType.INTEGER]
    number = render_call(subject, **{key: marks.integer})
    string = render_call(subject, **{key: str(marks.integer)})
    if number.rendered and number.text == string.text and str(marks.integer) in number.text:
        yield Hit(
            "a number and a string of its digits render identically: a parser needs the schema",
            (compare_renders(number, "a number", string, "a string"),),
            line=number.line_of(str(marks.integer)),
        )
