from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.lint.call_texts import render_both_forms
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_SHOWN = 20
"""The number of quoted characters before the arguments."""


@rule("AP503")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are a string with one whose arguments are an object."""
    string, object_ = render_both_forms(subject)
    if subject.analysis.string_arguments is not StringArguments.ENCODED_TWICE:
        given = json.dumps(dict(subject.call().arguments))
        before, found, after = string.text.rpartition(given)
        # Brackets that the template writes around members are around the string's own ones.
        if found and (before[-1:], after[:1]) == ("{", "}"):
            yield Hit(
                "JSON-string arguments are inserted between additional braces:"
                f" {quote_text(before[-_SHOWN:] + given + after[:1])}",
                (compare_renders(string, "arguments as JSON text", object_, "as an object"),),
                line=string.line_at(len(before)),
            )
        return
    yield Hit(
        "JSON-string arguments, as chat APIs send them, are rendered as a quoted"
        " string instead of an object",
        (compare_renders(string, "arguments as JSON text", object_, "as an object"),),
        line=string.line_of(f"{subject.marks.keys[0]}\\"),
    )
