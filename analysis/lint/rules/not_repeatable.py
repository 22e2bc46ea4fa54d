from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import (
    LintRenders,
    Render,
    RenderSetting,
    compare_renders,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import user_question
from autoparser.analysis.lint.subject import Subject

TIMES = 6
"""The number of renders: a choice at random may be the same twice."""


@rule("AP105", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message several times, at one moment."""
    first = _anew(subject)
    for _ in range(TIMES - 1):
        other = _anew(subject)
        if other.text != first.text or other.rendered != first.rendered:
            yield Hit(
                "repeated renders of one conversation differ, with the clock fixed",
                (compare_renders(first, "first render", other, "second render"),),
                line=_differing_line(first, other),
            )


def _anew(subject: Subject) -> Render:
    # Not by the subject, which would return its cached render.
    return LintRenders(subject.template, subject.tokens).render(
        user_question(subject), RenderSetting(generation=True)
    )


def _differing_line(one: Render, other: Render) -> int | None:
    """Return the line of the first difference between renders."""
    pairs = zip(one.retrace().spans, other.retrace().spans, strict=False)
    return next((left.line for left, right in pairs if left.text != right.text), None)
