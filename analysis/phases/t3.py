"""T3: what stands between calls, and between the parts of a turn."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import Limit
from autoparser.analysis.learning.ends import learn_ends
from autoparser.analysis.learning.header import learn_header
from autoparser.analysis.learning.layouts import (
    behind_calls,
    cut_calls,
    cut_section,
    learn_turn_end,
)
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding

CALLS = Presence(calls=True)


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Tell what repeats with each call from what separates calls, surrounds them, ends turns."""
    layouts = draft.layouts
    cut = "" if draft.cut is None else draft.cut.text
    header = learn_header(
        observer, layouts, [prompt.text for prompt in draft.prompts], cut, draft.beginnings
    )
    if draft.fullest is not None and header.startswith(draft.fullest.header):
        # What more every turn begins with here is a part that they leave empty.
        header = draft.fullest.header
    frame = None if draft.frame is None else draft.frame.without_header(header)
    turn_end = learn_turn_end(layouts)
    if frame is not None:
        frame = frame.with_close_before(behind_calls(layouts))
        layouts = {presence: cut_calls(layout, frame) for presence, layout in layouts.items()}
        if frame.limit is Limit.MANY and header.startswith(frame.repetition.prefix):
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
    elif frame.limit is not Limit.MANY:
        conclusion = "no second call, no separator"
    elif frame.repetition.separator:
        conclusion = f"{frame.repetition.separator!r} separates calls"
    else:
        conclusion = "nothing separates calls"
    stops = dict.fromkeys(each.stop for each in ends if each.stop)
    conclusion += f"; {' or '.join(map(repr, stops)) or 'nothing'} ends a turn"
    return draft, Finding("T3", "separators", conclusion, evidence, ("call_separator",))
