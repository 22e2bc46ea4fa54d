"""T3: what stands between calls, and between the parts of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import CallLimit, Layout, TurnFormat
from autoparser.analysis.inference.learning.layouts import (
    behind_calls,
    cut_calls,
    cut_section,
    learn_turn_end,
)
from autoparser.analysis.inference.learning.leads import learn_leads
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.turn_ends import learn_ends
from autoparser.analysis.inference.learning.turn_header import learn_header

from .draft import Draft
from .phase_finding import Evidence, Finding

CALLS = Presence(calls=True)


def _leaves_empty(fullest: TurnFormat, header: str, layouts: Mapping[Presence, Layout]) -> bool:
    """Whether what more every turn begins with, than turns do that have it all, is an empty block.

    Under some settings every turn opens reasoning and closes it at once: the model may still reason
    there, and only the history has none.
    """
    if not header.startswith(fullest.header) or fullest.reasoning is None:
        return False
    close = fullest.reasoning.close.core
    rests = [layout.literals[0][len(fullest.header) :] for layout in layouts.values()]
    begun = [
        rest for rest, layout in zip(rests, layouts.values(), strict=True) if not layout.refusal
    ]
    return bool(close) and all(not rest.strip() or close in rest for rest in begun)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Tell what repeats with each call from what separates calls, surrounds them, ends turns."""
    layouts = draft.layouts
    cut = "" if draft.cut is None else draft.cut.text
    header = learn_header(
        observer, layouts, [prompt.text for prompt in draft.prompts], cut, draft.beginnings
    )
    if draft.fullest is not None and _leaves_empty(draft.fullest, header, layouts):
        header = draft.fullest.header
    frame = None if draft.frame is None else draft.frame.without_header(header)
    turn_end = learn_turn_end(layouts)
    if frame is not None:
        frame = frame.with_close_before(behind_calls(layouts))
        layouts = {presence: cut_calls(layout, frame) for presence, layout in layouts.items()}
        if frame.limit is CallLimit.MANY and header.startswith(frame.repetition.prefix):
            # What a later call repeats of the header belongs to the call.
            header = frame.repetition.prefix
    section = cut_section(layouts, header, turn_end)
    ends = learn_ends(observer, section.layouts, header, turn_end, section, frame)
    draft = replace(
        draft,
        layouts=section.layouts,
        header=header,
        section=section,
        frame=frame,
        ends=ends,
    )
    if frame is not None:
        leads = learn_leads(observer, draft.suggestions)
        draft = replace(draft, leads=leads) if leads != draft.leads else draft
    evidence = (
        Evidence(
            "two calls / three calls",
            observer.shown(CALLS, 2).probe,
            observer.shown(CALLS, 3).probe,
        ),
        *(
            Evidence(f"the last turn, of {each.end.after} / an earlier one", each.last, each.later)
            for each in ends
        ),
    )
    if frame is None:
        conclusion = "no calls to separate"
    elif frame.limit is not CallLimit.MANY:
        conclusion = "no second call, no separator"
    elif frame.repetition.separator:
        conclusion = f"{frame.repetition.separator!r} separates calls"
    else:
        conclusion = "nothing separates calls"
    stops = dict.fromkeys(each.stop for each in ends if each.stop)
    conclusion += f"; {' or '.join(map(repr, stops)) or 'nothing'} ends a turn"
    return draft, Finding("T3", "separators", conclusion, evidence, ("call_separator",))
