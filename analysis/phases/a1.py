"""A1: one argument name against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.format import Slot
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.rows import cut_at, quotes_around
from autoparser.analysis.learning.strings import learn_key_row

from .draft import Draft
from .finding import Evidence, Finding, standing


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn where an argument's name stands: what of the argument moves with it."""
    marks = observer.prober.sentinels
    name, other = marks.keys[0], marks.keys[1]
    evidence = Evidence(
        "one argument name / another",
        observer.with_arguments({name: marks.values[0]}).probe,
        observer.with_arguments({other: marks.values[0]}).probe,
    )
    if draft.listed is None:
        conclusion = "no arguments to compare"
    else:
        place, entries = draft.listed.place(observer), draft.listed.entries
        row = learn_key_row(place, entries)
        draft = replace(draft, key_row=row)
        around = quotes_around(cut_at(row, marks.values[0], Slot.VALUE), Slot.KEY)
        conclusion = f"names are written{standing(*around) or ' as they are'}"
        expected = "".join(other if piece is Slot.KEY else piece for piece in row)
        if entries.inside(place.site({other: marks.values[0]})) != expected:
            conclusion += "; what stands around them depends on them"
    markers = ("arg_name_prefix", "arg_name_suffix")
    return draft, Finding("A1", "argument names", conclusion, (evidence,), markers)
