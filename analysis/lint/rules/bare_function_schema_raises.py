from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP519")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a question with tools, wrapped and bare."""
    messages = subject.shape.messages((subject.user,), subject.marks.system)
    bare = [tool["function"] for tool in subject.tools if isinstance(tool, dict)]
    wrapped = subject.render(messages, tools=subject.tools)
    render = subject.render(messages, tools=bare)
    if render.error is not None and wrapped.rendered:
        message = f"fails on tools that are bare function schemas: {render.reason}"
        yield raising_hit(message, (render, "bare"), (wrapped, "wrapped"))
