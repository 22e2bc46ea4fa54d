from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import user_question
from autoparser.analysis.lint.subject import Subject


@rule("AP115")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with no tools, and with an empty list of them."""
    none = subject.render(user_question(subject), generation=True, setting={})
    empty = subject.render(user_question(subject), generation=True, setting={"tools": []})
    if none.rendered and empty.rendered and none.text != empty.text:
        yield Hit(
            "a request with tools=[] gets another prompt than one without tools",
            (compare_renders(empty, "tools=[]", none, "no tools"),),
            line=parting_line(empty, none),
        )
