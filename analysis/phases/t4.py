"""T4: one function name against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Message
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See where the name stands, and how often."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(replace(call, name=marks.names[1]),)))
    times = one.text.count(marks.names[0])
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif times == 0:
        conclusion = "the name does not reach the turn by itself"
    elif times == 1:
        conclusion = "the name is written once"
    else:
        conclusion = f"the name is written {times} times"
    evidence = Evidence("one name / another name", one.probe, other.probe)
    markers = ("func_name_prefix", "func_name_suffix", "func_close", "function_namespace")
    return draft, Finding("T4", "function names", conclusion, (evidence,), markers)
