"""T7: one call id against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.format import CallLimit, Slot
from autoparser.analysis.inference.learning.learnt_ids import learn_id
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.slots import learn_slot
from autoparser.analysis.inference.probing import Sentinels

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn where the id stands, if it is written, and whether calls are counted instead."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(replace(call, id=marks.ids[1]),)))
    slot = learn_slot(Slot.ID, marks.ids[0], one.text, other.text)
    if slot is not None and draft.name is None and draft.frame is not None:
        several = draft.frame.limit is CallLimit.MANY
        draft = replace(draft, seen_id=learn_id(observer, draft.suggestions, several=several))
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif one.refusal or other.refusal:
        conclusion = "an id is refused"
    elif slot is not None:
        conclusion = f"the caller's id is written {_place(draft, one.text, marks)}"
    elif one.text != other.text:
        conclusion = "something that depends on the caller's id is written"
    elif draft.frame is not None and draft.frame.counts:
        conclusion = "calls are counted; the caller's id is not written"
    else:
        conclusion = "ids are not written"
    evidence = Evidence("one id / another id", one.probe, other.probe)
    markers = ("call_id_prefix", "call_id_suffix")
    return replace(draft, call_id=slot), Finding("T7", "call ids", conclusion, (evidence,), markers)


def _place(draft: Draft, text: str, marks: Sentinels) -> str:
    """Say where a call's id stands; where no name does, the id has to say what is called."""
    if draft.name is None:
        row = () if draft.seen_id is None else draft.seen_id.row
        words = "".join(_WORDS[piece] if isinstance(piece, Slot) else piece for piece in row)
        return f"and no name: it alone says which function is called{words and f', as {words}'}"
    at = text.find(marks.ids[0])
    if at < text.find(marks.names[0]):
        return "before the name"
    return (
        "between name and arguments" if at < text.find(marks.values[0]) else "after the arguments"
    )


_WORDS = {Slot.NAME: "NAME", Slot.INDEX: "INDEX", Slot.ID: "WORD"}
