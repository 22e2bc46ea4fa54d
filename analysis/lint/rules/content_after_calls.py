from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP307")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the positions of a message's content and of its call."""
    word = subject.marks.content
    render = render_last_call(subject, word)
    start = render.text.rfind(subject.marks.user)
    turn = render.text[max(start, 0) :]
    value = turn.find(subject.marks.values[0])
    if -1 < value < turn.find(word):
        yield Hit(
            "content before a call is rendered after it",
            (show_render(render, "content and a call"),),
            line=render.line_of(word) or render.line_of(subject.marks.values[0]),
        )
