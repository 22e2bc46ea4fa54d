from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.marker_pairs import render_marked
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP702")
def check(subject: Subject) -> Iterator[Hit]:
    """Report the text after the last block of a conversation that ends with the turn."""
    content = subject.marks.content
    found = render_marked(subject, (subject.user, Message(content)))
    if found is None or not found.blocks or content not in found.blocks[-1]:
        return
    inside = found.blocks[-1].rpartition(content)[2].strip()
    if found.behind.strip() and not inside:
        shown = found.plain() or found
        yield Hit(
            "a model trained on the marked text never learns to generate"
            f" {found.behind.strip()!r}, the end of its turn",
            (
                HitEvidence(
                    ShownText("marked as generated", shown.blocks[-1]),
                    ShownText("not marked", shown.behind),
                ),
            ),
            line=found.render.line_of(found.behind.strip()),
        )
