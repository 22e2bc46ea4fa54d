"""A1: one argument name against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Row, Slot
from autoparser.analysis.inference.learning.keys import learn_key
from autoparser.analysis.inference.learning.learnt_rows import cut_at, quotes_around
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.slots import SeenSlot, learn_slot

from .draft import Draft
from .phase_finding import Evidence, Finding, standing


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn where an argument's name stands: what of the argument moves with it."""
    marks = observer.prober.sentinels
    name, other, value = marks.keys[0], marks.keys[1], marks.values[0]
    pair: list[dict[str, Json]] = [{name: value}, {other: value}]
    left, right = (observer.with_arguments(each).probe for each in pair)
    conclusion = "no arguments to compare"
    if draft.listed is not None:
        place, entries = draft.listed.place(observer), draft.listed.entries
        one, two = (entries.inside(place.site(each)) for each in pair)
        draft = replace(draft, key=learn_slot(Slot.KEY, name, one, two))
        names = learn_key(place)
        if names != draft.names:
            draft = replace(draft, names=names)
        if one is not None and draft.key is not None:
            conclusion = _in_words(draft.key, cut_at((one,), value, Slot.VALUE))
            if one.replace(name, other) != two:
                conclusion += "; what stands around them depends on them"
    evidence = Evidence("one argument name / another", left, right)
    markers = ("arg_name_prefix", "arg_name_suffix")
    return draft, Finding("A1", "argument names", conclusion, (evidence,), markers)


def _in_words(key: SeenSlot, row: Row) -> str:
    around = standing(*quotes_around(key.cut(row), Slot.KEY))
    return f"names are written{around or ' as they are'}"
