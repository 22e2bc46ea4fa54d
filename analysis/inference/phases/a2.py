"""A2: one argument value against another."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Escape, Slot
from autoparser.analysis.inference.learning.learnt_rows import quotes_around
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.string_notation import (
    Strings,
    hostile_string,
    learn_strings,
)

from .draft import Draft
from .phase_finding import Evidence, Finding, standing


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn what stands around a string value, and how its characters are written."""
    marks = observer.prober.sentinels
    plain: dict[str, Json] = {marks.keys[0]: marks.values[0]}
    hostile: dict[str, Json] = {marks.keys[0]: hostile_string(marks.values[0])}
    evidence = Evidence(
        "one value / one of characters that get escaped",
        observer.with_arguments(plain).probe,
        observer.with_arguments(hostile).probe,
    )
    strings = None
    if draft.listed is not None:
        place = draft.listed.place(observer)
        strings = learn_strings(place, draft.listed.entries, draft.key)
    conclusion = "no values to compare" if strings is None else _in_words(strings)
    draft = replace(draft, strings=strings)
    markers = ("arg_value_prefix", "arg_value_suffix")
    return draft, Finding("A2", "argument values", conclusion, (evidence,), markers)


def _in_words(strings: Strings) -> str:
    text = strings.text
    conclusion = f"strings are written {text.escape.words}"
    if text.escape is not Escape.PYTHON:
        conclusion += standing(*quotes_around(strings.row, Slot.VALUE))
    if text.guard is not None:
        conclusion += f", some wrapped in {text.guard.open!r} and {text.guard.close!r}"
    return conclusion
