from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.lint_renders import compare_renders, line_that_saw
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP515")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a message with two calls, and one with the first of them."""
    calls = (subject.call(0), subject.call(1))
    both = subject.play(subject.turn(Message(calls=calls)), tools=True)
    one = subject.play(subject.turn(Message(calls=calls[:1])), tools=True)
    shown = [str(value) for value in subject.marks.values[:2]]
    if not one.rendered or shown[0] not in one.text:
        return
    if both.error is not None:
        message = f"fails on two calls in one message: {both.reason}"
        hit = raising_hit(message, (both, "two calls"), (one, "one call"), refused=Severity.WARNING)
        # Without a cause, a refusal of two calls is not merged with others of the same message, so
        # it remains a finding of its own.
        yield replace(hit, cause=None) if both.error.refused else hit
    elif not all(text in both.text for text in shown):
        which, lost = ("second", 1) if shown[0] in both.text else ("first", 0)
        yield Hit(
            f"the {which} of two calls in one message is not in the prompt",
            (compare_renders(both, "two calls", one, "one call"),),
            line=line_that_saw(both, subject.marks.ids[lost]) or one.line_of(shown[0]),
        )
