"""T6: no argument against one."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Json, Presence
from autoparser.analysis.format import Part
from autoparser.analysis.learning.calls import learn_calls, learn_empty_row
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what encloses the arguments, and what is written where there are none."""
    marks = observer.prober.sentinels
    none: dict[str, Json] = {}
    evidence = Evidence(
        "no argument / one argument",
        observer.with_arguments(none).probe,
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
    )
    draft = replace(draft, empty_row=_empty_row(observer, draft))
    if draft.arguments is None:
        conclusion = "no arguments to compare"
    elif draft.empty_row is not None:
        conclusion = "a call without arguments is written differently"
    else:
        members = draft.arguments.members
        around = members.open or members.close
        between = f"arguments stand between {members.open!r} and {members.close!r}"
        conclusion = between if around else "nothing encloses the arguments alone"
    return draft, Finding(
        "T6", "argument container", conclusion, (evidence,), ("args_start", "args_end")
    )


def _empty_row(observer: Observer, draft: Draft) -> tuple[str, ...] | None:
    layout = draft.layouts.get(Presence(calls=True))
    section = draft.section
    if layout is None or layout.parts != (Part.CALLS,) or section is None:
        return None
    if draft.frame is None or draft.arguments is None:
        return None
    calls = learn_calls(observer, draft.frame, draft.arguments, section.open, section.close)
    if calls is None:
        return None
    return learn_empty_row(observer, calls, layout.literals[0], layout.literals[1])
