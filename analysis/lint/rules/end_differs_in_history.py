from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, quote_text
from autoparser.analysis.lint.marker_pairs import last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_earlier
from autoparser.analysis.lint.subject import Subject


@rule("AP203")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the text after the content of the last message and of an earlier one."""
    content = subject.marks.content
    last, later = render_answer(subject), render_earlier(subject)
    if content not in last.text or subject.marks.next_user not in later.text:
        return
    if content not in later.text:
        return
    end = last.text.rpartition(content)[2].strip()
    behind = later.text.rpartition(content)[2].partition(subject.marks.next_user)[0]
    header = subject.format.header.strip()
    if behind.strip().startswith(end) or (header and header in end):
        return
    yield Hit(
        f"a turn ends in {quote_text(end)} as the last, and goes on with {quote_text(behind)}"
        " in the history",
        (compare_renders(last, "as the last message", later, "before another message"),),
        line=last_line(last),
    )
