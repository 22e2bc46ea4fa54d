from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    appends_answer,
    render_earlier,
    render_two_answers,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP321", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search the prompt for both answers, and for the text between them."""
    usual, render = render_earlier(subject), render_two_answers(subject)
    first, second = subject.marks.content, subject.marks.reasoning
    if not render.rendered or first not in usual.text:
        return
    evidence = (show_render(render, "two answers in a row"),)
    for word, which in ((first, "first"), (second, "second")):
        if word not in render.text:
            yield Hit(
                f"the {which} of two consecutive assistant messages is lost",
                evidence,
                severity=Severity.ERROR if appends_answer(subject) else None,
            )
    between = render.text.partition(first)[2].partition(second)[0]
    if not between.strip():
        yield Hit(
            "two consecutive assistant messages are rendered as one text",
            evidence,
            line=render.line_of(second),
        )
