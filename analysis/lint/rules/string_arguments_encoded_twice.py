from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.lint.call_texts import render_both_forms
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP503")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are a string with one whose arguments are an object."""
    if subject.analysis.string_arguments is not StringArguments.ENCODED_TWICE:
        return
    string, object_ = render_both_forms(subject)
    yield Hit(
        "a caller that sends arguments as JSON text, as chat APIs do, has the model"
        " read a quoted string instead of an object",
        (compare_renders(string, "arguments as JSON text", object_, "as an object"),),
        line=string.line_of(f"{subject.marks.keys[0]}\\"),
    )
