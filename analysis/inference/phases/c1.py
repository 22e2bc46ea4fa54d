"""C1: content against calls against reasoning."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Edges, Layout, Part, Strip
from autoparser.analysis.inference.learning.layouts import PRESENCES, learn_layout
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.probing import EmptyContent, Probe

from .draft import Draft
from .phase_finding import Evidence, Finding
from .r1 import PLAIN, REASONED

CALLS = Presence(calls=True)
TOLD_AND_CALLED = Presence(content=True, calls=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See how content is wrapped, what it loses, and where it stands beside calls."""
    missing = [presence for presence in PRESENCES if presence not in draft.layouts]
    layouts = {presence: learn_layout(observer, presence) for presence in missing}
    draft = replace(draft, layouts={**draft.layouts, **layouts})
    evidence: tuple[Evidence, ...] = (
        Evidence("content / a call", observer.shown(PLAIN).probe, observer.shown(CALLS).probe),
        Evidence(
            "content / reasoning and content",
            observer.shown(PLAIN).probe,
            observer.shown(REASONED).probe,
        ),
        Evidence(
            "a call / content and a call",
            observer.shown(CALLS).probe,
            observer.shown(TOLD_AND_CALLED).probe,
        ),
    )
    null = _null_beside_calls(observer, draft)
    if null is not None:
        draft = replace(draft, requires_nonnull_content=True)
        difference = "a call without content / a call and null content"
        evidence = (*evidence, Evidence(difference, observer.shown(CALLS).probe, null))
    words = [_beside_calls(draft.layouts[TOLD_AND_CALLED])] if draft.shows_calls else []
    words.append(_stripped(draft.layouts[PLAIN].content))
    if null is not None:
        fate = "printed as a word" if null.rendered else "refused"
        words.append(f"null beside a call is {fate}")
    markers = ("content_start", "content_end")
    return draft, Finding("C1", "content", ", ".join(words), evidence, markers)


def _null_beside_calls(observer: Observer, draft: Draft) -> Probe | None:
    """Render null content beside a call; None where that is written as no content is.

    It is asked once, under the setting that shows most.
    """
    if not draft.shows_calls or draft.fullest is not None:
        return None
    prober = observer.prober
    null = Observer(prober.using(shape=replace(prober.shape, empty_content=EmptyContent.NULL)))
    turn = null.shown(CALLS)
    same = not turn.refusal and turn.text == observer.shown(CALLS).text
    return None if same else turn.probe


def _beside_calls(layout: Layout) -> str:
    if layout.refusal:
        return "content beside calls is refused"
    if Part.CONTENT not in layout.parts:
        return "content is dropped beside calls"
    if Part.CALLS not in layout.parts:
        return "calls are dropped beside content"
    before = layout.parts.index(Part.CONTENT) < layout.parts.index(Part.CALLS)
    return "content stands before calls" if before else "content stands after calls"


def _stripped(edges: Edges) -> str:
    if edges == Edges():
        return "written as it is"
    if edges.left is edges.right is Strip.WHITESPACE:
        return "stripped of whitespace"
    return f"loses {edges.left} on the left and {edges.right} on the right"
