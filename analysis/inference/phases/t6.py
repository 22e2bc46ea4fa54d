"""T6: no argument against one."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.learning.learnt_arguments import Enclosure, learn_enclosure
from autoparser.analysis.inference.learning.observer import Observer

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn what encloses the arguments, be they one value or not, and a call without any."""
    marks = observer.prober.sentinels
    none: dict[str, Json] = {}
    evidence = Evidence(
        "no argument / one argument",
        observer.with_arguments(none).probe,
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
    )
    if draft.listed is None or draft.types is None:
        conclusion = "no arguments to compare"
    else:
        enclosure = learn_enclosure(observer, draft.listed, draft.types)
        draft = replace(draft, enclosure=enclosure)
        conclusion = _in_words(enclosure)
    return draft, Finding(
        "T6", "argument container", conclusion, (evidence,), ("args_start", "args_end")
    )


def _in_words(enclosure: Enclosure) -> str:
    if enclosure.without is not None:
        return "a call without arguments is written differently"
    if enclosure.notation is None:
        return "nothing encloses the arguments alone"
    members = enclosure.notation.object
    return f"arguments stand between {members.open!r} and {members.close!r}"
