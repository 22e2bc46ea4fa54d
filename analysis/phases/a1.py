"""A1: one argument name against another."""

from __future__ import annotations

from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what stands around an argument's name."""
    marks = observer.prober.sentinels
    evidence = Evidence(
        "one argument name / another",
        observer.with_arguments({marks.keys[0]: marks.values[0]}).probe,
        observer.with_arguments({marks.keys[1]: marks.values[0]}).probe,
    )
    if draft.arguments is None:
        conclusion = "no arguments to compare"
    else:
        key = draft.arguments.members.key
        quoted = f"between {key.open!r} and {key.close!r}" if key.open else "as they are"
        conclusion = f"names are written {quoted}"
    markers = ("arg_name_prefix", "arg_name_suffix")
    return draft, Finding("A1", "argument names", conclusion, (evidence,), markers)
