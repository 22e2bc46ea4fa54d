from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import change_fields, render_answer
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

VALUES: tuple[tuple[Json, str], ...] = ((None, "null"), ("", "empty"))


@rule("AP411")
def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer without the field, and with every name of it null, then empty."""
    usual = render_answer(subject)
    if not usual.rendered:
        return
    found: dict[str, tuple[str, Render]] = {}
    for value, words in VALUES:
        fields: dict[str, Json] = dict.fromkeys(REASONING_FIELDS, value)
        given = subject.render(
            change_fields([dict(message) for message in usual.messages], **fields),
            as_given=True,
        )
        if not given.rendered or given.text != usual.text:
            what = (
                "renders differently from one without the field"
                if given.error is None
                else failure_words(given)
            )
            found[words] = what, given
    if not found:
        return
    # The finding names both fields, since a fix may only change named ones.
    (words, (what, first)), *others = found.items()
    for other, (also, _) in others:
        words, what = (
            (f"{words} or {other}", what)
            if also == what
            else (words, f"{what}; if it is {other}, it {also}")
        )
    yield Hit(
        f"an answer whose reasoning field is {words} {what}",
        tuple(
            compare_renders(given, f"the field is {value}", usual, "no such field")
            for value, (_, given) in found.items()
        ),
        line=parting_line(first, usual),
        cause=first.cause,
    )
