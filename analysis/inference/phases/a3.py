"""A3: a string value against a value of each other type."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.inference.learning.containers import container_of, learn_types
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.typed_rows import typed_samples

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn how the types differ in writing, and how arrays and objects are written."""
    marks = observer.prober.sentinels
    if draft.listed is None or draft.strings is None:
        return draft, Finding("A3", "value types", "no values to compare")
    entries = draft.listed.entries
    types = learn_types(draft.listed.place(observer), entries, draft.strings)
    string = observer.with_arguments({marks.keys[0]: marks.values[0]}).probe
    evidence = tuple(
        Evidence(
            f"a string / {kind}",
            string,
            observer.with_arguments({marks.typed_keys[kind]: value}).probe,
        )
        for kind, value in dict(typed_samples(marks)).items()
    )
    container = container_of(entries, draft.strings, types, draft.names)
    values = container.values
    if values is None or values.is_json:
        conclusion = "all values are written as JSON"
    else:
        words = f"{values.true}, {values.false}, {values.null}"
        inner = values.array.values or values
        kind = "JSON" if inner.is_json else "a notation of their own"
        conclusion = f"{words}; arrays and objects in {kind}"
    if any(row is None for row in container.typed.values()):
        conclusion += "; null arguments are dropped"
    return replace(draft, types=types), Finding("A3", "value types", conclusion, evidence)
