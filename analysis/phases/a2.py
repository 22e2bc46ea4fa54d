"""A2: one argument value against another."""

from __future__ import annotations

from autoparser.analysis.format import Escape
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding

_ESCAPES = {
    Escape.VERBATIM: "as they are",
    Escape.JSON: "with the escapes of JSON",
    Escape.JSON_ASCII: "with the escapes of JSON, in ASCII alone",
    Escape.PYTHON: "as Python's repr does",
    Escape.HTML: "with the escapes of HTML",
    Escape.JSON_HTML: "with the escapes of JSON, then those of HTML",
    Escape.TABLE: "with escapes of their own",
}


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
        conclusion = f"strings are written {_ESCAPES[text.escape]}"
        if text.open or text.close:
            conclusion += f" between {text.open!r} and {text.close!r}"
        if text.guard is not None:
            conclusion += f", some wrapped in {text.guard.open!r} and {text.guard.close!r}"
    markers = ("arg_value_prefix", "arg_value_suffix")
    return draft, Finding("A2", "argument values", conclusion, (evidence,), markers)
