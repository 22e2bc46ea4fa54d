from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import NOON, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

LATER = NOON + timedelta(days=1200, hours=5)
"""A time in another year and month, on another weekday and at another hour."""


@rule("AP603", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations at two times."""
    for system, tools in (("", False), (subject.marks.system, False), ("", True)):
        now, later = (
            subject.play(subject.chat, system=system, tools=tools, generation=True, clock=clock)
            for clock in (NOON, LATER)
        )
        if now.rendered and later.rendered and now.text != later.text:
            at = prefix_length(now.text, later.text)
            # Show the whole line, since it shows the purpose of the date.
            start = now.text.rfind("\n", 0, at) + 1
            line = now.text[start:].partition("\n")[0]
            yield Hit(
                f"the prompt depends on the date: {line[:60]!r}",
                (compare_renders(now, "on one day", later, "on another"),),
                line=now.line_at(at),
            )
