"""T5: one argument against two."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.learning.learnt_arguments import learn_argument_list
from autoparser.analysis.inference.learning.observer import Observer

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn how arguments follow one another: by what, and in which order."""
    marks = observer.prober.sentinels
    listed = None if draft.frame is None else learn_argument_list(observer)
    pair: dict[str, Json] = {marks.keys[0]: marks.values[0], marks.keys[1]: marks.values[1]}
    evidence = Evidence(
        "one argument / two arguments",
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
        observer.with_arguments(pair).probe,
    )
    if draft.frame is None:
        conclusion = "no arguments to compare"
    elif listed is None:
        conclusion = "the arguments cannot be made out in the text"
    elif listed.verbatim:
        conclusion = "the caller's JSON text is pasted"
    else:
        separator = listed.entries.repetition.separator
        separated = f"{separator!r} separates" if separator else "nothing separates"
        conclusion = f"{separated} arguments, their order: {listed.entries.order}"
    draft = replace(draft, listed=listed)
    return draft, Finding("T5", "several arguments", conclusion, (evidence,), ("arg_separator",))
