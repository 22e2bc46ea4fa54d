"""T7: one call id against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Message
from autoparser.analysis.format import Row, Slot
from autoparser.analysis.learning.ids import with_id_row
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See whether ids are written, and whether calls are counted instead."""
    marks = observer.prober.sentinels
    calls = draft.calls
    if calls is not None and calls.naming is not None:
        calls = with_id_row(observer, calls, draft.suggestions)
        draft = replace(draft, calls=calls)
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(replace(call, id=marks.ids[1]),)))
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif one.refusal or other.refusal:
        conclusion = "an id is refused"
    elif one.text != other.text:
        conclusion = "the caller's id is written"
        if calls is not None and calls.naming is not None:
            conclusion += f", and carries the name: {_in_words(calls.id_row)}"
    elif draft.frame is not None and draft.frame.counts:
        conclusion = "calls are counted; the caller's id is not written"
    else:
        conclusion = "ids are not written"
    evidence = Evidence("one id / another id", one.probe, other.probe)
    markers = ("call_id_prefix", "call_id_suffix")
    return draft, Finding("T7", "call ids", conclusion, (evidence,), markers)


_WORDS = {Slot.NAME: "NAME", Slot.INDEX: "INDEX", Slot.ID: "WORD"}


def _in_words(row: Row) -> str:
    if not row:
        return "no render shows how"
    return "".join(_WORDS[piece] if isinstance(piece, Slot) else piece for piece in row)
