"""What the installed engines make of what a finding is about, in a sentence each.

Contract: an engine that was not asked, or whose answers tell nothing of it, is not said to do
anything. The judge is the text that the template renders here.
"""

from __future__ import annotations

from .jinja_comparison import JinjaComparison, JinjaDifference, SentConversation
from .jinja_sending import compare_sent
from .lint_renders import Render
from .subject import Subject

__all__ = ["engines_at", "engines_on"]


def engines_at(subject: Subject, line: int | None) -> tuple[str, ...]:
    """Say what each engine does at a line, in the whole conversations that it was asked."""
    if line is None or not subject.jinjas or subject.failure is not None:
        return ()
    return tuple(_at(subject, each, line) for each in subject.in_other_jinjas)


def engines_on(subject: Subject, words: str, given: Render, wanted: Render) -> tuple[str, ...]:
    """Say what each engine makes of one conversation that should become the text of `wanted`."""
    sent_with, judged = (
        next(each.variables for each in subject.asked if each.render is render)
        for render in (given, wanted)
    )
    sent = [SentConversation(words, sent_with, wanted, judged)]
    comparisons = (
        compare_sent(each, subject.rendering, subject.tokens, sent) for each in subject.jinjas
    )
    return tuple(_on(each) for each in comparisons)


def _at(subject: Subject, comparison: JinjaComparison, line: int) -> str:
    label = comparison.jinja.label
    there = [each for each in comparison.differences if each.place and each.place.line == line]
    if there:
        return f"{label} {_otherwise(there[0])} in {len(there)} of {comparison.asked} conversations"
    if any(_runs(subject, each, line) for each in comparison.same):
        return f"{label} renders it as it is meant"
    return f"{label} renders no conversation with it that would tell"


def _on(comparison: JinjaComparison) -> str:
    label = comparison.jinja.label
    if comparison.differences:
        return f"{label} {_otherwise(comparison.differences[0])}"
    if comparison.same:
        return f"{label} renders it as it is meant"
    return f"{label} was not asked: {', '.join(comparison.not_asked)}"


def _otherwise(difference: JinjaDifference) -> str:
    error = difference.answer.error
    return f"fails: {error}" if error else "renders another text"


def _runs(subject: Subject, sent: SentConversation, line: int) -> bool:
    """Whether a line does anything in a conversation."""
    trace = subject.rendering.step_through(sent.variables)
    sites = {each.site for each in trace.steps} | {
        each.site for each in trace.pieces if each.site is not None
    }
    return any(trace.sites[each].line == line for each in sites)
