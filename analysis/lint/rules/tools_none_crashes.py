from __future__ import annotations

from collections.abc import Iterator, Mapping

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import user_question
from autoparser.analysis.lint.subject import Subject

EMPTY: Mapping[str, Json] = {"tools": []}


@rule("AP104")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with tools, with None for them, and with an empty list."""
    messages = user_question(subject)
    none = subject.render(messages, setting={})
    empty = subject.render(messages, setting=EMPTY)
    given = subject.render(messages, tools=subject.tools, setting={})
    for bare, words, other, other_words in (
        (none, "tools=None", given if given.rendered else empty, "tools given"),
        (empty, "tools=[]", none, "tools=None"),
    ):
        if bare.crashed and other.rendered:
            message = f"a request with {words} {failure_words(bare)}"
            yield raising_hit(message, (bare, words), (other, other_words))
