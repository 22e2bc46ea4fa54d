"""R3: reasoning before content against reasoning before calls."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import Part
from autoparser.analysis.learning.layouts import learn_layout
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding
from .r1 import REASONED

CALLED = Presence(reasoning=True, calls=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See beside what reasoning is written."""
    wanted = (
        Presence(reasoning=True),
        CALLED,
        Presence(reasoning=True, content=True, calls=True),
    )
    layouts = {presence: learn_layout(observer, presence) for presence in wanted}
    draft = replace(draft, layouts={**draft.layouts, **layouts})
    evidence = Evidence(
        "reasoning and content / reasoning and a call",
        observer.shown(REASONED).probe,
        observer.shown(CALLED).probe,
    )
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
    return draft, Finding("R3", "reasoning scope", conclusion, (evidence,))
