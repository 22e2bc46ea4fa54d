from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import USUAL_REASONING
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.lint.hit import Confidence, Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.rule_conversations import (
    change_fields,
    render_answer,
    render_earlier,
    render_with,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP405")
def check(subject: Subject) -> Iterator[Hit]:
    """Report how reasoning was detected if no last turn has any."""
    if subject.has(RuleNeed.REASONING):
        return
    yield from _only_earlier(subject)
    format_ = subject.format
    cut, opening = format_.reasoning_cut, format_.reasoning_open.strip()
    if not (cut or opening):
        return
    given = render_answer(subject, reasoning=subject.marks.reasoning)
    prompt = _prompt(subject, opening)
    shown = prompt or render_answer(subject)
    label = "the prompt, or the turn without reasoning"
    how = f"renders {quote_text(opening)} in its prompts"
    if cut:
        how = f"cuts the content at {quote_text(cut)}"
    closed = any(opening.written is PromptProgress.REASONING_CLOSED for opening in format_.openings)
    yield Hit(
        f"the template {how}, but ignores the reasoning of messages",
        (compare_renders(given, "with reasoning", shown, label),),
        line=shown.line_at(shown.text.rindex(opening))
        if prompt
        else shown.line_of(subject.marks.content),
        # A prompt that ends in an open marker may use it for something else.
        confidence=None if cut or closed else Confidence.MEDIUM,
    )


def _only_earlier(subject: Subject) -> Iterator[Hit]:
    """Search for an answer's reasoning before and after the next user message."""
    word = subject.marks.reasoning
    # The shape of a template without reasoning in its last turn has no field for it.
    last, later = (
        subject.render(change_fields([*map(dict, render.messages)], **{USUAL_REASONING: word}))
        for render in (render_answer(subject), render_earlier(subject))
    )
    if last.rendered and word in later.text and word not in last.text:
        yield Hit(
            "the reasoning of earlier answers is rendered, but that of the last one is not",
            (compare_renders(last, "as the last message", later, "before another message"),),
            line=later.line_of(word),
        )


def _prompt(subject: Subject, opening: str) -> Render | None:
    """Return the first prompt that opens reasoning."""
    prompts = (
        render_with(subject, (subject.user,), opener.setting, generation=True)
        for opener in subject.format.openings
        if opening and opening in opener.text
    )
    return next((prompt for prompt in prompts if opening in prompt.text), None)
