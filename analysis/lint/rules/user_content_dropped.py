from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import line_that_saw, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP312")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the prompt of a conversation for each of its user messages."""
    marks = subject.marks
    one = subject.play((subject.user,), generation=True)
    if one.rendered and not one.holds(marks.user):
        yield Hit(
            "a user's text is not in the prompt",
            (show_render(one, "one user message"),),
            line=line_that_saw(one, marks.user),
        )
        return
    two = subject.play(subject.chat, generation=True)
    if not two.rendered:
        return
    for word, words in ((marks.user, "first"), (marks.next_user, "last")):
        if not two.holds(word):
            yield Hit(
                f"the {words} of two user messages is not in the prompt",
                (show_render(two, "two user messages and an answer"),),
                line=line_that_saw(two, word),
            )
