"""T6: no argument against one."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Json, Presence
from autoparser.analysis.format import CallFormat, Part
from autoparser.analysis.learning.calls import learn_calls, learn_empty_row
from autoparser.analysis.learning.free_words import learn_free_words
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what encloses the arguments, and put the call together, with none and with some."""
    marks = observer.prober.sentinels
    none: dict[str, Json] = {}
    evidence = Evidence(
        "no argument / one argument",
        observer.with_arguments(none).probe,
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
    )
    draft = replace(draft, calls=_calls(observer, draft))
    if draft.arguments is None:
        conclusion = "no arguments to compare"
    elif draft.calls is not None and draft.calls.empty_row is not None:
        conclusion = "a call without arguments is written differently"
    else:
        members = draft.arguments.members
        around = members.open or members.close
        between = f"arguments stand between {members.open!r} and {members.close!r}"
        conclusion = between if around else "nothing encloses the arguments alone"
    return draft, Finding(
        "T6", "argument container", conclusion, (evidence,), ("args_start", "args_end")
    )


def _calls(observer: Observer, draft: Draft) -> CallFormat | None:
    section = draft.section
    if draft.frame is None or draft.arguments is None or section is None:
        return None
    calls = learn_calls(observer, draft.frame, draft.arguments, section.open, section.close)
    layout = draft.layouts.get(Presence(calls=True))
    if calls is None:
        return None
    free_words = learn_free_words(observer, calls, draft.suggestions)
    if layout is None or layout.parts != (Part.CALLS,):
        return replace(calls, free_words=free_words)
    empty_row = learn_empty_row(observer, calls, layout.literals[0], layout.literals[1])
    return replace(calls, empty_row=empty_row, free_words=free_words)
