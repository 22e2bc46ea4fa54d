from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import rewriting_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP601", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a conversation as it grows, without reasoning and without a generation prompt."""
    *renders, whole = [subject.play(subject.chat[:end]) for end in (1, 2, 3)]
    if not whole.rendered:
        return
    for render, chat in zip(renders, ("a question", "a question and its answer"), strict=True):
        # A template may omit a question until it is answered.
        if render.rendered and not whole.text.startswith(render.text):
            message = f"adding a later message rewrites the prompt of {chat}"
            yield rewriting_hit(message, (render, chat), (whole, "a longer conversation"))
