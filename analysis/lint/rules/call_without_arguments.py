from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.text_alignment import prefix_length, suffix_length
from autoparser.analysis.lint.call_texts import json_from, render_call
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text, raising_hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP525")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call with an empty object, and one with an argument."""
    usual = render_last_call(subject)
    empty = render_call(subject)
    name = subject.marks.names[0]
    if not usual.rendered:
        return
    both = (empty, "without arguments"), (usual, "with one argument")
    evidence = (compare_renders(*both[0], *both[1]),)
    if empty.error is not None:
        message = f"fails on a call without arguments: {empty.reason}"
        yield raising_hit(message, *both, refused=Severity.WARNING)
    elif empty.text.count(name) < usual.text.count(name):
        yield Hit("a call without arguments is not in the prompt", evidence)
    elif broken := _broken_json(subject, usual.text, empty.text):
        message = f"a call without arguments is not valid JSON: {quote_text(broken)}"
        yield Hit(message, evidence, empty.line_at(empty.text.find(broken)))


def _broken_json(subject: Subject, usual: str, empty: str) -> str:
    """Return the call of a render, or empty text unless only the other render has it in JSON."""
    argument = usual.rfind(str(subject.marks.values[0]))
    name = usual.rfind(subject.marks.names[0], 0, max(argument, 0))
    same = prefix_length(usual, empty)
    # Before the name, both renders write the same call.
    for start in range(min(name, same)) if same > name >= 0 else ():
        if usual[start] in "[{" and json_from(usual, start, argument) is not None:
            broken = json_from(empty, start, name) is None
            # With the bracket after the missing arguments.
            return empty[start : len(empty) - suffix_length(usual, empty) + 1] if broken else ""
    return ""
