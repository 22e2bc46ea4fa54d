from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    appends_answer,
    render_answer,
    render_earlier,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP202")
def check(subject: Subject) -> Iterator[Hit]:
    """Check the text after the content of the last message."""
    end = next(
        (turn_end for turn_end in subject.format.ends if turn_end.after is TurnPart.CONTENT), None
    )
    last = render_answer(subject)
    if end is None or end.text.strip() or not last.rendered or not appends_answer(subject):
        return
    later = render_earlier(subject)
    earlier = (end.historic or "").strip()
    but = f", although {quote_text(earlier)} ends it before another message" if earlier else ""
    marks = subject.marks
    before = last.text.partition(marks.user)[0]
    behind = later.text.partition(marks.content)[2].partition(marks.next_user)[0]
    # Not only the next message's header follows the content.
    ended = bool(behind) and not before.endswith(behind)
    yield Hit(
        f"the assistant's turn has no end marker when it is the last{but}",
        (compare_renders(last, "as the last message", later, "before another message"),),
        line=parting_line(last, later) if ended else last.line_of(marks.content),
    )
