from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import line_that_saw, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP521", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call and its result, last and followed by more."""
    call, marks = subject.call(), subject.marks
    last = subject.play(subject.loop, tools=True, generation=True)
    later = subject.play((*subject.loop, *subject.chat[1:]), tools=True, generation=True)
    for render, when in ((last, "as the last message"), (later, "of an earlier turn")):
        if render.rendered and call.name in render.text and marks.answer not in render.text:
            yield Hit(
                f"a tool result {when} is not in the prompt",
                (show_render(render, "a call with its result"),),
                line=line_that_saw(render, marks.answer),
            )
