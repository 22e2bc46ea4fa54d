"""T7: one call id against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Message
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See whether ids are written, and whether calls are counted instead."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(replace(call, id=marks.ids[1]),)))
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif one.refusal or other.refusal:
        conclusion = "an id is refused"
    elif one.text != other.text:
        conclusion = "the caller's id is written"
    elif draft.frame is not None and draft.frame.counts:
        conclusion = "calls are counted; the caller's id is not written"
    else:
        conclusion = "ids are not written"
    evidence = Evidence("one id / another id", one.probe, other.probe)
    markers = ("call_id_prefix", "call_id_suffix")
    return draft, Finding("T7", "call ids", conclusion, (evidence,), markers)
