from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.marker_pairs import render_marked
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP701")
def check(subject: Subject) -> Iterator[Hit]:
    """Search a conversation with an answer for a generation block."""
    dialogue = (subject.user, Message(subject.marks.content))
    if subject.template.marks_generation:
        found = render_marked(subject, dialogue)
        if found is None or found.blocks:
            return
    render = subject.play(dialogue)
    yield Hit(
        "transformers' loss mask is empty: the template has no generation tag",
        (show_render(render, "a question and its answer"),),
        # The line of the model's text, which the tag would enclose.
        line=render.line_of(subject.marks.content),
    )
