"""A2: one argument value against another."""

from __future__ import annotations

from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what stands around a string value, and how its characters are written."""
    marks = observer.prober.sentinels
    evidence = Evidence(
        "one value / another",
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
        observer.with_arguments({marks.keys[0]: marks.values[1]}).probe,
    )
    if draft.arguments is None:
        conclusion = "no values to compare"
    else:
        text = draft.arguments.values.string
        conclusion = f"strings are written {text.escape}"
        if text.open or text.close:
            conclusion += f" between {text.open!r} and {text.close!r}"
        if text.guard is not None:
            conclusion += f", some wrapped in {text.guard.open!r} and {text.guard.close!r}"
    markers = ("arg_value_prefix", "arg_value_suffix")
    return draft, Finding("A2", "argument values", conclusion, (evidence,), markers)
