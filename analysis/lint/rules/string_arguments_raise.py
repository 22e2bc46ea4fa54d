from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_both_forms
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP504")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are a string with one whose arguments are an object."""
    string, object_ = render_both_forms(subject)
    if string.error is None or not object_.rendered:
        return
    yield raising_hit(
        f"fails on calls with JSON-string arguments, as chat APIs send them: {string.reason}",
        (string, "JSON-string arguments"),
        (object_, "as an object"),
        refused=Severity.INFO,
    )
