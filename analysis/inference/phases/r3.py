"""R3: reasoning before content against reasoning before calls."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Part, ReasoningRetention
from autoparser.analysis.inference.learning.history import before_next_user, learn_retention
from autoparser.analysis.inference.learning.layouts import learn_layout
from autoparser.analysis.inference.learning.observer import Observer

from .draft import Draft
from .phase_finding import Evidence, Finding
from .r1 import REASONED

CALLED = Presence(reasoning=True, calls=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See beside what reasoning is written, and whether it outlasts its turn."""
    wanted = (
        Presence(reasoning=True),
        CALLED,
        Presence(reasoning=True, content=True, calls=True),
    )
    layouts = {presence: learn_layout(observer, presence) for presence in wanted}
    retention = learn_retention(observer, reasoning=draft.shows_reasoning, calls=draft.shows_calls)
    draft = replace(draft, layouts={**draft.layouts, **layouts}, retention=retention)
    evidence = [
        Evidence(
            "reasoning and content / reasoning and a call",
            observer.shown(REASONED).probe,
            observer.shown(CALLED).probe,
        )
    ]
    if retention.next_user is not None:
        last, later = before_next_user(observer)
        evidence.append(Evidence("the last turn / the turn before a user message", last, later))
    if retention.differs:
        last, later = before_next_user(observer, tools=False)
        words = "the last turn / the turn before a user message, without tools"
        evidence.append(Evidence(words, last, later))
    beside = [
        str(presence)
        for presence, layout in draft.layouts.items()
        if Part.REASONING in layout.parts
    ]
    with_content = Part.REASONING in draft.layouts[REASONED].parts
    with_calls = Part.REASONING in layouts[CALLED].parts
    if with_content and with_calls:
        conclusion = "reasoning is written before content and before calls"
    elif with_calls:
        conclusion = "reasoning is written only before calls"
    elif with_content and draft.shows_calls:
        conclusion = "reasoning is written only before content"
    elif beside:
        conclusion = "reasoning is written; the template writes no calls"
    else:
        conclusion = "no reasoning to compare"
    conclusion += _history(retention)
    return draft, Finding("R3", "reasoning scope", conclusion, tuple(evidence))


def _history(retention: ReasoningRetention) -> str:
    if retention.differs:
        tools = "with" if retention.next_user else "without"
        return f"; earlier turns keep theirs only {tools} tools"
    kept = retention.next_user
    return "" if kept is None else f"; earlier turns {'keep' if kept else 'lose'} theirs"
