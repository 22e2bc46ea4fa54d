"""T1: no call against a call."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.inference.learning.free_words import learn_free_words
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.prompt_words import find_worded_call

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See whether a call reaches the text."""
    called = observer.shown(Presence(calls=True))
    evidence = [Evidence("no call / a call", observer.shown(Presence()).probe, called.probe)]
    worded = None if draft.shows_calls else find_worded_call(observer)
    if worded is not None:
        draft = replace(draft, worded_call=worded)
        evidence.append(Evidence("no tools / tools", worded.without, worded.told))
    if draft.shows_calls:
        draft = replace(draft, free=learn_free_words(observer, draft.suggestions))
        words = [repr(each.text[each.start : each.end]) for each in draft.free]
        conclusion = "a call is written"
        if words:
            conclusion += f"; a field of the message may replace {' and '.join(words)}"
    elif worded is not None:
        conclusion = "a call is not written, but the words about the tools spell one out"
    elif called.refusal:
        conclusion = f"a call is refused: {called.refusal}"
    else:
        conclusion = "a call is not written"
    markers = ("tool_section_start", "tool_section_end")
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    return draft, Finding(
        "T1",
        "tool calls",
        conclusion,
        tuple(evidence),
        markers,
        kind=kind,
    )
