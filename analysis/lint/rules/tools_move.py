from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP607")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the position of the tools in one question and in two."""
    marks = subject.marks
    one = subject.play((subject.user,), tools=True)
    two = subject.play(subject.chat, tools=True)
    name = marks.names[0]
    if not (one.rendered and two.rendered and name in one.text and name in two.text):
        return
    before = one.text.find(name) < one.text.find(marks.user)
    answer = two.text.find(marks.content)
    if two.text.find(name) > answer > 0 and (before or one.text.find(name) > 0):
        yield Hit(
            "each user message moves the tool definitions to the end of the conversation",
            (compare_renders(one, "one question", two, "two questions"),),
            line=two.line_of(name),
        )
