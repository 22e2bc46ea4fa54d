from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compare_renders, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP525")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call with an empty object, and with the other forms of no arguments."""
    usual = subject.play(subject.turn(Message(calls=(subject.call(),))), tools=True)
    empty = render_call(subject)
    name = subject.marks.names[0]
    if not usual.rendered:
        return
    both = (empty, "without arguments"), (usual, "with one argument")
    if empty.error is not None:
        message = f"fails on a call without arguments: {empty.reason}"
        yield raising_hit(message, *both, refused=Severity.WARNING)
    elif empty.text.count(name) < usual.text.count(name):
        evidence = (compare_renders(*both[0], *both[1]),)
        yield Hit("a call without arguments is not in the prompt", evidence)
