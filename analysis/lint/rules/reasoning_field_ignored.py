from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence
from autoparser.analysis.lint.lint_renders import Render, compare_renders, quote_text
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
    if cut:
        how = f"cuts the content at {quote_text(cut)}"
    else:
        how = f"writes {quote_text(opening)} in its prompts"
    yield Hit(
        f"the template {how}, but reasoning that a message holds is ignored",
        (_evidence(subject, opening),),
        line=_line(subject, opening),
        # A prompt that ends in an open marker may mean something else by it.
        confidence=None if cut or _closes(subject) else Confidence.MEDIUM,
    )


def _closes(subject: Subject) -> bool:
    return any(each.written is PromptProgress.REASONING_CLOSED for each in subject.format.openings)


def _evidence(subject: Subject, opening: str) -> HitEvidence:
    given = render_answer(subject, reasoning=subject.marks.reasoning)
    other = _prompt(subject, opening) or render_answer(subject)
    return compare_renders(given, "with reasoning", other, "the prompt, or the turn without")


def _line(subject: Subject, opening: str) -> int | None:
    """Return the line that opens reasoning in a prompt, or else the one that writes the content."""
    prompt = _prompt(subject, opening)
    if prompt is None:
        return render_answer(subject).line_of(subject.marks.content)
    return prompt.line_at(prompt.text.rindex(opening))


def _prompt(subject: Subject, opening: str) -> Render | None:
    """Return the first prompt that opens reasoning."""
    prompts = (
        render_with(subject, (subject.user,), each.setting, generation=True)
        for each in subject.format.openings
        if opening and opening in each.text
    )
    return next((each for each in prompts if opening in each.text), None)
