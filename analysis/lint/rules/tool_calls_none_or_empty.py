from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import change_fields, render_earlier
from autoparser.analysis.lint.subject import Subject

EMPTY: tuple[tuple[Json, str], ...] = (([], "tool_calls: []"), (None, "tool_calls: null"))


@rule("AP113", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer without calls, with an empty list of them, and with null."""
    usual = render_earlier(subject)
    if not usual.rendered:
        return
    for value, words in EMPTY:
        messages = change_fields([dict(message) for message in usual.messages], tool_calls=value)
        given = subject.render(messages, as_given=True)
        if given.rendered and given.text == usual.text:
            continue
        lost = given.crashed or (given.rendered and _loses(subject, usual, given))
        if given.error is not None:
            what = f"an answer with {words} {failure_words(given)}"
        elif lost:
            what = f"an answer with {words} loses its content"
        else:
            what = f"an answer with {words} is rendered as a tool-call turn"
        yield Hit(
            what,
            (compare_renders(given, f"with {words}", usual, "without"),),
            line=parting_line(given, usual),
            # transformers drops null.
            severity=Severity.ERROR if lost and value is not None else None,
            cause=given.cause,
        )


def _loses(subject: Subject, usual: Render, other_render: Render) -> bool:
    return subject.marks.content in usual.text and subject.marks.content not in other_render.text
