"""R1: no reasoning against reasoning, both before the same content."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Part
from autoparser.analysis.inference.learning.content_cut import find_cut
from autoparser.analysis.inference.learning.layouts import learn_layout
from autoparser.analysis.inference.learning.observer import Observer

from .draft import Draft
from .phase_finding import Evidence, Finding

PLAIN = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See whether reasoning reaches the text, and if not, whether it is cut out of the content."""
    layouts = {presence: learn_layout(observer, presence) for presence in (PLAIN, REASONED)}
    shown = Part.REASONING in layouts[REASONED].parts
    evidence = [
        Evidence(
            "no reasoning / reasoning",
            observer.shown(PLAIN).probe,
            observer.shown(REASONED).probe,
        )
    ]
    cut = None
    if not draft.shows_reasoning:
        cut = find_cut(observer, draft.suggestions)
        if cut is not None:
            plain = observer.shown(PLAIN).probe
            evidence.append(Evidence("content / content after a text", plain, cut.kept))
    field = observer.prober.shape.reasoning_field
    if shown:
        conclusion = f"reasoning is written before the content (field {field})"
    elif draft.shows_reasoning:
        conclusion = "reasoning is not written before content"
    elif cut is not None:
        conclusion = f"reasoning is only cut out of the content, up to {cut.text!r}"
    else:
        conclusion = "no field brings reasoning into the text"
    draft = replace(draft, layouts={**draft.layouts, **layouts}, cut=cut)
    markers = ("reasoning_start", "reasoning_end")
    return draft, Finding("R1", "reasoning", conclusion, tuple(evidence), markers)
