from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint.hit import TEXT_DROPPED, Hit, Severity
from autoparser.analysis.lint.lint_renders import line_that_saw, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import user_question
from autoparser.analysis.lint.subject import Subject


@rule("AP103")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message, and check that the prompt is not empty."""
    render = subject.render(user_question(subject), generation=True, setting={})
    if render.rendered and not render.text.strip():
        parts = subject.shape.user_content is ContentForm.PARTS
        yield Hit(
            "the prompt of a user message is empty: the model receives no question",
            (show_render(render, "one user message, with the generation prompt"),),
            line=line_that_saw(render, subject.marks.user),
            # Servers detect templates that only take content parts, and send those.
            severity=Severity.WARNING if parts else None,
            cause=TEXT_DROPPED if parts else None,
        )
