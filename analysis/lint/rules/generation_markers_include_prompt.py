from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.marker_pairs import render_marked
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP703")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the beginning of the block with the generation prompt."""
    content = subject.marks.content
    found = render_marked(subject, (subject.user, Message(content)))
    alone = subject.play((subject.user,))
    prompt = subject.play((subject.user,), generation=True)
    if found is None or not found.blocks or not prompt.text.startswith(alone.text):
        return
    added = prompt.text[len(alone.text) :].strip()
    before = found.blocks[-1].partition(content)[0]
    if added and content in found.blocks[-1] and before.strip().startswith(added):
        shown = found.plain() or found
        yield Hit(
            f"the loss mask includes {added!r} of the generation prompt, which no model generates",
            (
                HitEvidence(
                    ShownText("marked as generated", shown.blocks[-1]),
                    ShownText("the generation prompt", added),
                ),
            ),
            line=found.render.line_of(added),
        )
