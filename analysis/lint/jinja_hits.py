"""What another program's Jinja makes of whole conversations, as hits: one for each cause."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.errors import one_line

from .hit import Hit, HitEvidence, ShownText
from .jinja_comparison import JinjaComparison, JinjaDifference, TagPlace

_MOST_CHARACTERS = 60
"""Of what stands at a place."""

_Cause = tuple[TagPlace | None, str]


def hits_of(comparison: JinjaComparison, *, failed: bool) -> Iterator[Hit]:
    """Return a hit for each cause: of failures, or of other texts."""
    by_cause: dict[_Cause, list[JinjaDifference]] = {}
    for each in comparison.differences:
        if bool(each.answer.error) is failed:
            by_cause.setdefault((each.place, each.answer.error), []).append(each)
    for (place, _), those in by_cause.items():
        yield _hit(comparison, place, those)


def _hit(comparison: JinjaComparison, place: TagPlace | None, those: list[JinjaDifference]) -> Hit:
    name = comparison.jinja.name
    first = those[0]
    share = f"{len(those)} of {comparison.asked} conversations, such as {first.sent.words}"
    at = "" if place is None or not place.text else f" at {one_line(place.text, _MOST_CHARACTERS)}"
    if first.answer.error:
        message = f"{name} fails{at} on {share}: {first.answer.error}"
    else:
        other = "other whitespace" if _same_words(first) else "another text"
        message = f"{name} renders {other}{at} in {share}"
    there = ShownText(f"by {comparison.jinja.label}", first.answer.text, first.answer.error)
    return Hit(
        message,
        (HitEvidence(first.sent.render.shown("as transformers renders it"), there),),
        line=None if place is None else place.line,
    )


def _same_words(difference: JinjaDifference) -> bool:
    return difference.sent.render.text.split() == difference.answer.text.split()
