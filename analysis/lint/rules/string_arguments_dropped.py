from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.lint.call_texts import render_both_forms, render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP505")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the render of a call with string arguments for the argument's value."""
    string, object_ = render_both_forms(subject)
    value = subject.marks.values[0]
    if not string.rendered or value not in object_.text:
        return
    if value not in string.text:
        empty = render_call(subject).text
        effect = "without arguments" if empty == string.text else "with its arguments split up"
    elif subject.analysis.string_arguments is StringArguments.DROPPED:
        effect = "with its arguments altered"
    else:
        return
    yield Hit(
        f"a call with JSON-string arguments, as chat APIs send it, is rendered {effect}",
        (compare_renders(string, "JSON-string arguments", object_, "as an object"),),
        line=object_.line_of(value),
    )
