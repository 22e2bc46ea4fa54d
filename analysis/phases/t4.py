"""T4: one function name against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Message
from autoparser.analysis.format import Slot
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.slots import learn_slot

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn where the name stands, and how often: what of a call moves with it."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(replace(call, name=marks.names[1]),)))
    slot = learn_slot(Slot.NAME, marks.names[0], one.text, other.text)
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif slot is None:
        conclusion = "the name does not reach the turn by itself"
    elif slot.times == 1:
        conclusion = "the name is written once"
    else:
        conclusion = f"the name is written {slot.times} times"
    evidence = Evidence("one name / another name", one.probe, other.probe)
    markers = ("func_name_prefix", "func_name_suffix", "func_close", "function_namespace")
    draft = replace(draft, name=slot)
    return draft, Finding("T4", "function names", conclusion, (evidence,), markers)
