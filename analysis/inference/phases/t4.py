"""T4: one function name against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.format import Slot
from autoparser.analysis.inference.learning.calls_frame import CallsFrame
from autoparser.analysis.inference.learning.observer import Observer, SlotKind
from autoparser.analysis.inference.learning.slots import learn_slot

from .draft import Draft
from .phase_finding import Evidence, Finding, standing


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
    else:
        times = "once" if slot.times == 1 else f"{slot.times} times"
        conclusion = f"the name is written {times}{_after(observer, draft.frame)}"
    evidence = Evidence("one name / another name", one.probe, other.probe)
    markers = ("func_name_prefix", "func_name_suffix", "func_close", "function_namespace")
    draft = replace(draft, name=slot)
    return draft, Finding("T4", "function names", conclusion, (evidence,), markers)


def _after(observer: Observer, frame: CallsFrame | None) -> str:
    """Say what of a call stands right before its name: what opens it, a namespace, an id's end."""
    pieces = observer.pieces("" if frame is None else frame.written(0))
    kinds = [slot.kind for slot in pieces.slots]
    return standing(
        pieces.literals[kinds.index(SlotKind.NAME)] if SlotKind.NAME in kinds else "", ""
    )
