from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_with
from autoparser.analysis.lint.subject import Subject


@rule("AP205", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations that a user ends, with a generation prompt and without."""
    marks = subject.marks
    for dialogue, word in (((subject.user,), marks.user), (subject.chat, marks.next_user)):
        without = render_with(subject, dialogue, {})
        prompt = render_with(subject, dialogue, {}, generation=True)
        if not prompt.rendered or not without.rendered or prompt.text.startswith(without.text):
            continue
        yield _rewrite_hit(without, prompt, word)


def _rewrite_hit(without: Render, prompt: Render, word: str) -> Hit:
    said = without.text[: without.text.rfind(word) + len(word)]
    ends = without.text[len(said) :]
    within = not prompt.text.startswith(said)
    at = prefix_length(prompt.text, without.text)
    if within:
        what = "the generation prompt changes the messages before it"
    elif prompt.text.endswith(without.text[at:]):
        what = (
            f"the generation prompt is inserted before {quote_text(without.text[at:])}, the end"
            " of the conversation without one"
        )
    else:
        what = (
            f"without a generation prompt the conversation ends with {quote_text(ends)},"
            " which is missing from the prompt"
        )
    return Hit(
        what,
        (compare_renders(prompt, "with a generation prompt", without, "without"),),
        line=None if within else without.line_at(at),
        severity=Severity.ERROR if within else None,
    )
