from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.marker_pairs import render_marked
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP706")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the generation blocks for each part of a turn."""
    marks, call = subject.marks, subject.call()
    parts = (
        ("reasoning", Message(marks.content, marks.reasoning), marks.reasoning),
        ("the content", Message(marks.content), marks.content),
        ("a tool call", Message(calls=(call,)), marks.values[0]),
    )
    for part, message, word in parts:
        found = render_marked(subject, subject.turn(message), tools=bool(message.calls))
        # A part that the template never writes cannot be marked.
        if found is None or word not in found.render.text:
            continue
        if not any(word in block for block in found.blocks):
            shown = found.plain() or found
            yield Hit(
                f"a model trained on the marked text never learns to generate {part}",
                (
                    HitEvidence(
                        shown.render.shown_text(f"with {part}"),
                        ShownText("marked as generated", "".join(shown.blocks)),
                    ),
                ),
                line=found.render.line_of(word),
            )
