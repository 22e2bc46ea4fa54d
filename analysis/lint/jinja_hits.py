"""What another program's Jinja makes of whole conversations, as hits: one for each cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.core.errors import one_line

from .hit import Hit, HitEvidence, Severity, ShownText
from .jinja_comparison import JinjaComparison, JinjaDifference, TagPlace
from .played_conversation import PlayedConversation

_MOST_CHARACTERS = 60
"""Of what stands at a place."""

_Cause = tuple[TagPlace | None, str]


def hits_of(
    comparison: JinjaComparison, played: Sequence[PlayedConversation], *, failed: bool
) -> Iterator[Hit]:
    """Return a hit for each cause: of failures, or of other texts.

    `played` is what the template itself makes of the conversations.
    """
    by_cause: dict[_Cause, list[JinjaDifference]] = {}
    for each in comparison.differences:
        if bool(each.answer.error) is failed:
            by_cause.setdefault((each.place, each.answer.error), []).append(each)
    for (place, _), those in by_cause.items():
        yield _hit(comparison, place, those, played)


def _hit(
    comparison: JinjaComparison,
    place: TagPlace | None,
    those: list[JinjaDifference],
    played: Sequence[PlayedConversation],
) -> Hit:
    name = comparison.jinja.name
    first = those[0]
    settings = {each.name: each.conversation.setting for each in played}
    switched = all(settings.get(each.sent.words) for each in those)
    share = f"{len(those)} of {comparison.asked} conversations, such as {first.sent.words}"
    at = "" if place is None or not place.text else f" at {one_line(place.text, _MOST_CHARACTERS)}"
    if first.answer.error:
        message = f"{name} fails{at} on {share}: {first.answer.error}"
    else:
        other = "other whitespace" if _same_words(first) else "another text"
        message = f"{name} renders {other}{at} in {share}{_as_if_set(first, played)}"
    there = ShownText(f"by {comparison.jinja.label}", first.answer.text, first.answer.error)
    return Hit(
        message,
        (HitEvidence(first.sent.render.shown("as transformers renders it"), there),),
        line=None if place is None else place.line,
        # The value was made up to see what the switch does; who sends it is not known.
        severity=Severity.WARNING if switched else None,
        setting=settings[first.sent.words] if switched else {},
    )


def _as_if_set(difference: JinjaDifference, played: Sequence[PlayedConversation]) -> str:
    """Say with which value of a switch the template writes that text, too: servers set some."""
    for each in played:
        setting = each.conversation.setting
        if setting and each.render.text == difference.answer.text:
            set_so = " and ".join(f"{name}={value!r}" for name, value in setting.items())
            return f", as the template itself does with {set_so}"
    return ""


def _same_words(difference: JinjaDifference) -> bool:
    return difference.sent.render.text.split() == difference.answer.text.split()
