"""T1: no call against a call."""

from __future__ import annotations

from autoparser.analysis.conversation import Presence
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See whether a call reaches the text."""
    called = observer.shown(Presence(calls=True))
    evidence = Evidence("no call / a call", observer.shown(Presence()).probe, called.probe)
    if draft.shows_calls:
        conclusion = "a call is written"
    elif called.refusal:
        conclusion = f"a call is refused: {called.refusal}"
    else:
        conclusion = "a call is not written"
    markers = ("tool_section_start", "tool_section_end")
    return draft, Finding("T1", "tool calls", conclusion, (evidence,), markers)
