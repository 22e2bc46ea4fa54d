from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import Render, compare_renders, quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_earlier
from autoparser.analysis.lint.subject import Subject

SHORTEST, LONGEST = 3, 60


@rule("AP304")
def check(subject: Subject) -> Iterator[Hit]:
    """Insert the template's own text constants into content, and report what is lost."""
    before, behind = subject.marks.reasoning, subject.marks.content
    usual = _renders(subject, behind)
    if not all(behind in render.text for render in usual):
        return
    constants = _constants(subject)
    # One render tells whether any of them matters.
    mixed = behind + "".join(constant + behind for constant in constants)
    count = len(constants) + 1
    if all(render.text.count(behind) == count for render in _renders(subject, mixed)):
        return
    for constant in constants:
        marked = _renders(subject, f"{before}{constant}{behind}")
        for render, plain in zip(marked, usual, strict=True):
            if behind in render.text and before not in render.text:
                yield Hit(
                    f"of a content that holds {quote_text(constant.strip())}, what stands before it"
                    " is lost",
                    (compare_renders(render, "with the marker", plain, "without"),),
                    line=render.line_of(behind),
                )
                return


def _constants(subject: Subject) -> list[str]:
    """Return candidates for the end of reasoning: that of the analysis first, then by length."""
    known = subject.analysis.markers.reasoning_end
    others = {
        text
        for text in subject.suggestions.constants
        if SHORTEST <= len(text.strip()) <= LONGEST and not text.strip().isalnum()
    }
    return [*filter(None, [known]), *sorted(others - {known}, key=lambda text: (len(text), text))]


def _renders(subject: Subject, content: str) -> tuple[Render, Render]:
    return render_answer(subject, content), render_earlier(subject, content)
