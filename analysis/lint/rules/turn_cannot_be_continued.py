from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

TAG = "qqqqcontinueqqqq"
"""The mark at which the prompt is cut, as by `continue_final_message` of transformers."""


@rule("AP608")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a partial message with a tag after its text, and check the text before the tag."""
    begun = f"{subject.marks.content}:\n  "
    dialogue = (subject.user, Message(f"{begun}{TAG}"))
    messages: list[dict[str, Json]] = subject.shape.messages(dialogue, subject.marks.system)
    render = subject.render(messages)
    if not render.rendered:
        return
    at = render.text.rfind(TAG)
    if at < 0:
        yield Hit(
            "a partial turn cannot be continued: its text is not in the prompt",
            (show_render(render, "a partial turn"),),
        )
    elif not render.text[:at].endswith(begun):
        yield Hit(
            "a partial turn is continued after a different text",
            (show_render(render, "a partial turn"),),
        )
