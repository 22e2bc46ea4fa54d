from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP522")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the text after one call with the text after two."""
    calls = subject.format.calls
    if calls is None or not calls.later_close.strip():
        return
    close, both = calls.later_close, (subject.call(0), subject.call(1))
    answers = tuple(subject.answer(call) for call in both)
    one, two = (
        subject.play((subject.user, Message(calls=both[:count]), *answers[:count]), tools=True)
        for count in (1, 2)
    )
    # Render the result too: the section might be closed only after it.
    if one.rendered and two.rendered and close in two.text and close not in one.text:
        yield Hit(
            f"{close.strip()!r} is missing after one call, although it closes two",
            (compare_renders(one, "one call", two, "two calls"),),
            line=two.line_of(close.strip()),
        )
