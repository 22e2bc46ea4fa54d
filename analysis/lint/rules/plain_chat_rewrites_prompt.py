from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.text_alignment import common_prefix
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, in_plain_words
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

CONTEXT = 30
"""So many characters are quoted of what is rewritten."""


@rule("AP601")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a conversation as it grows, without reasoning and without a generation prompt."""
    *renders, whole = [subject.play(subject.chat[:end]) for end in (1, 2, 3)]
    if not whole.rendered:
        return
    for render, what in zip(renders, ("a question", "a question and its answer"), strict=True):
        # A template may write nothing of a question until it is answered.
        if render.rendered and not whole.text.startswith(render.text):
            one, longer = in_plain_words(render, whole)
            at = len(common_prefix(one.text, longer.text))
            yield Hit(
                f"with a later message the prompt of {what} changes:"
                f" {one.text[at : at + CONTEXT]!r} becomes {longer.text[at : at + CONTEXT]!r}",
                (compare_renders(one, what, longer, "a longer conversation"),),
                line=one.line_at(at),
            )
            return
