from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import rewriting_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP602", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a tool loop as it grows, without reasoning."""
    second = subject.call(1)
    loop: Dialogue = (*subject.loop, Message(calls=(second,)), subject.answer(second))
    renders = [subject.play(loop[:end], tools=True) for end in (2, 3, 5)]
    pairs = ((renders[0], renders[1], "a result"), (renders[1], renders[2], "another call"))
    for before, after, addition in pairs:
        if before.rendered and after.rendered and not after.text.startswith(before.text):
            message = f"adding {addition} rewrites earlier text"
            yield rewriting_hit(
                message, (before, f"before {addition}"), (after, f"with {addition}")
            )
