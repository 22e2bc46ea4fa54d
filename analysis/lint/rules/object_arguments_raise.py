from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_both_forms
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP506")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are an object with one whose arguments are a string."""
    string, object_ = render_both_forms(subject)
    if object_.error is None or not string.rendered:
        return
    yield raising_hit(
        f"fails on calls with object arguments: {object_.reason}",
        (object_, "arguments as an object"),
        (string, "as a JSON string"),
        refused=Severity.WARNING,
    )
