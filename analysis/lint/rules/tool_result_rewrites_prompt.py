from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.core.text_alignment import common_prefix
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, in_plain_words
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

CONTEXT = 30
"""So many characters are quoted of what is rewritten."""


@rule("AP602")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a tool loop as it grows, without reasoning."""
    second = subject.call(1)
    loop: Dialogue = (*subject.loop, Message(calls=(second,)), subject.answer(second))
    renders = [subject.play(loop[:end], tools=True) for end in (2, 3, 5)]
    pairs = ((renders[0], renders[1], "a result"), (renders[1], renders[2], "the next call"))
    for before, after, what in pairs:
        if before.rendered and after.rendered and not after.text.startswith(before.text):
            one, other = in_plain_words(before, after)
            at = len(common_prefix(one.text, other.text))
            yield Hit(
                f"{what} changes the prompt before it:"
                f" {one.text[at : at + CONTEXT]!r} becomes {other.text[at : at + CONTEXT]!r}",
                (compare_renders(one, f"before {what}", other, f"with {what}"),),
                line=one.line_at(at),
            )
            return
