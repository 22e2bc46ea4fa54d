from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.lint.hit import Confidence, Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.rule_conversations import render_answer, render_with
from autoparser.analysis.lint.subject import Subject


@rule("AP405")
def check(subject: Subject) -> Iterator[Hit]:
    """Report how the analysis detected reasoning if no turn has any."""
    format_ = subject.format
    cut, opening = format_.reasoning_cut, format_.reasoning_open.strip()
    if subject.has(RuleNeed.REASONING) or not (cut or opening):
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


def _prompt(subject: Subject, opening: str) -> Render | None:
    """Return the first prompt that opens reasoning."""
    prompts = (
        render_with(subject, (subject.user,), opener.setting, generation=True)
        for opener in subject.format.openings
        if opening and opening in opener.text
    )
    return next((prompt for prompt in prompts if opening in prompt.text), None)
