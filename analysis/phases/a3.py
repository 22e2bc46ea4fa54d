"""A3: a string value against a value of each other type."""

from __future__ import annotations

from autoparser.analysis.conversation import Json
from autoparser.analysis.format import JsonType
from autoparser.analysis.learning.observer import Observer

from .draft import Draft
from .finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See how the types differ in writing."""
    marks = observer.prober.sentinels
    samples: dict[JsonType, Json] = {
        JsonType.INTEGER: marks.integer,
        JsonType.NUMBER: marks.number,
        JsonType.BOOLEAN: True,
        JsonType.NULL: None,
        JsonType.ARRAY: [marks.values[1]],
        JsonType.OBJECT: {marks.keys[1]: marks.values[1]},
    }
    if draft.arguments is None:
        return draft, Finding("A3", "value types", "no values to compare")
    string = observer.with_arguments({marks.keys[0]: marks.values[0]}).probe
    evidence = tuple(
        Evidence(
            f"a string / {kind}",
            string,
            observer.with_arguments({marks.typed_keys[kind]: value}).probe,
        )
        for kind, value in samples.items()
    )
    values = draft.arguments.values
    if values.is_json:
        conclusion = "all values are written as JSON"
    else:
        words = f"{values.true}, {values.false}, {values.null}"
        inner = values.array.values or values
        kind = "JSON" if inner.is_json else "a notation of their own"
        conclusion = f"{words}; arrays and objects in {kind}"
    if any(row is None for row in draft.arguments.members.typed.values()):
        conclusion += "; null arguments are dropped"
    return draft, Finding("A3", "value types", conclusion, evidence)
