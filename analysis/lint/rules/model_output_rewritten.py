from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.history.scenarios import Next
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome, Verdict
from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import PLAYED, replay_steps
from autoparser.analysis.lint.subject import Subject

OTHERS = frozenset(
    {
        Cause.RAISES,
        Cause.EARLIER,
        Cause.HEADER,
        Cause.END,
        Cause.REASONING_DROPPED,
        Cause.REASONING_STRIPPED,
        Cause.CONTENT_DROPPED,
        Cause.CONTENT_STRIPPED,
        Cause.ENCODED_TWICE,
        Cause.LITERALS,
        Cause.ORDER,
        Cause.IDS,
    }
)
"""Causes that other rules report better."""

CALLING = frozenset(name for name, coming in PLAYED if coming is Next.TOOL)


@rule("AP605")
def check(subject: Subject) -> Iterator[Hit]:
    """Replay the usual steps, and report the first of each cause."""
    stops = subject.format.stop_strings
    broken: dict[Cause, tuple[str, Verdict]] = {}
    for scenario, verdict in replay_steps(subject):
        cause = verdict.cause
        if verdict.outcome is Outcome.BREAKS and cause is not None and cause not in OTHERS:
            broken.setdefault(cause, (scenario.name, verdict))
    for cause, (name, verdict) in [*broken.items()]:
        gap = verdict.difference
        stop = gap and next(
            (stop for stop in stops if stop in verdict.sampled[: max(gap.at, 0)]), None
        )
        # A model writes nothing after the end of a turn.
        if gap and stop and name in CALLING:
            del broken[cause]
            yield Hit(
                f"the end of a turn, {quote_text(stop)}, precedes the call ({name}), so an"
                " engine stops before the call",
                (_evidence(verdict),),
                line=gap.line,
            )
    if broken:
        what = "; ".join(f"{cause} ({name})" for cause, (name, _) in broken.items())
        gaps = (verdict.difference for _, verdict in broken.values())
        yield Hit(
            f"the model's output is not a prefix of the next prompt: {what}",
            tuple(_evidence(verdict) for _, verdict in broken.values()),
            line=next((gap.line for gap in gaps if gap), None),
        )


def _evidence(verdict: Verdict) -> HitEvidence:
    gap = verdict.difference
    if gap is None:
        return HitEvidence(ShownText("as the model generated it", verdict.sampled))
    return HitEvidence(
        ShownText("as the model generated it", gap.before + gap.sampled),
        ShownText("in the next prompt", gap.before + gap.rendered),
    )
