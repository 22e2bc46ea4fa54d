"""T2: one call against two."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.inference.learning.calls_frame import learn_frame
from autoparser.analysis.inference.learning.observer import Observer

from .draft import Draft
from .phase_finding import Evidence, Finding

CALLS = Presence(calls=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what is written once for each call and what once around all of them."""
    frame = learn_frame(observer) if draft.shows_calls else None
    draft = replace(draft, frame=frame)
    evidence = Evidence(
        "one call / two calls", observer.shown(CALLS).probe, observer.shown(CALLS, 2).probe
    )
    if frame is None:
        conclusion = "no calls to compare"
    else:
        conclusion = str(frame.limit)
        if frame.later_close:
            conclusion += ", every call but the first followed by a text of its own"
    markers = ("per_call_start", "per_call_end")
    return draft, Finding("T2", "several calls", conclusion, (evidence,), markers)
