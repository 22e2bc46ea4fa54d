from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP106")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message, and two."""
    one = subject.play((subject.user,))
    two = subject.play((subject.user, subject.next_user))
    if one.rendered and two.error is not None:
        message = f"a second consecutive user message {failure_words(two)}"
        yield raising_hit(message, (two, "two in a row"), (one, "one user message"))
