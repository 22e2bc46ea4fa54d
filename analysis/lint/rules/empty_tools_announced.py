from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compared, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import question
from autoparser.analysis.lint.subject import Subject


@rule("AP115")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with no tools, and with an empty list of them."""
    none = subject.render(question(subject), generation=True)
    empty = subject.render(question(subject), generation=True, setting={"tools": []})
    if none.rendered and empty.rendered and none.text != empty.text:
        yield Hit(
            "a request with tools=[] gets another prompt than one without tools",
            (compared(empty, "tools=[]", none, "no tools"),),
            line=parting_line(empty, none),
        )
