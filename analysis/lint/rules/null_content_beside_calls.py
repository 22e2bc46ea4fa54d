from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    call_messages,
    change_fields,
    render_last_call,
)
from autoparser.analysis.lint.subject import Subject

WORDS = ("None", "null")
"""Null as Python and JSON print it."""


@rule("AP109")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call beside content that is empty, and beside null as it is."""
    usual = render_last_call(subject)
    null = subject.render(
        change_fields(call_messages(subject), content=None),
        tools=subject.usual_tools,
        as_given=True,
    )
    if not usual.rendered:
        return
    evidence = (compare_renders(null, "content: null", usual, "as the template expects"),)
    # The words may be in the prompt anyway, e.g. in tools, so only additional ones count.
    printed = [word for word in WORDS if null.text.count(word) > usual.text.count(word)]
    if null.error is not None:
        message, line = f"content: null beside a call {failure_words(null)}", null.error.line
    elif printed:
        message = f"content: null beside a call is rendered as {printed[0]}"
        line = null.line_of(printed[0])
    elif null.text.count(subject.call().name) < usual.text.count(subject.call().name):
        message, line = "a call beside content: null is dropped", None
    else:
        return
    yield Hit(message, evidence, line=line, cause=null.cause)
