"""An object or an array in a call's arguments is printed as Python prints it.

The model reads single quotes, True and None where it wrote JSON. What it learns to write from
that, no JSON reader takes.

Before:

    {{- key + '=' + value | string }}

After:

    {{- key + '=' + (value if value is string else value | tojson) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import JsonType
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling, written_as_python


def check(subject: Subject) -> Iterator[Hit]:
    """See how an object and an array are written, unless calls are Python throughout."""
    marks = subject.marks
    key, word, keys = marks.keys[1], marks.values[2], marks.typed_keys
    nested: dict[JsonType, Json] = {JsonType.OBJECT: {key: word}, JsonType.ARRAY: [word]}
    render = calling(subject, **{keys[kind]: value for kind, value in nested.items()})
    shown = [str(value) for value in nested.values() if str(value) in render.text]
    if shown and not written_as_python(subject):
        yield Hit(
            f"the model reads {' and '.join(shown)} in its call, which is Python and not JSON",
            (alone(render, "a call with an object and an array"),),
            line=render.line_of(shown[0]),
        )


RULE = Rule(
    "AP508",
    "nested-value-as-python-repr",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write values that are not strings with tojson",
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.NOTATION,
)
