"""True, False and None stand where a call said true, false and null.

The arguments of a call are JSON. A template that prints them instead of encoding them shows the
model Python's words: what it wrote and what it reads differ, the prefix cache ends there, and the
model learns to write what a JSON reader refuses.

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
from autoparser.analysis.lint.written_values import (
    WrittenValue,
    calling,
    written,
    written_as_python,
)

LITERALS: tuple[tuple[Json, JsonType, str], ...] = (
    (True, JsonType.BOOLEAN, "true"),
    (False, JsonType.BOOLEAN, "false"),
    (None, JsonType.NULL, "null"),
)


def check(subject: Subject) -> Iterator[Hit]:
    """See how each of the three is written, unless calls are Python throughout."""
    keys = subject.marks.typed_keys
    both = calling(subject, **{keys[JsonType.BOOLEAN]: True, keys[JsonType.NULL]: None})
    if not any(str(value) in both.text for value in (True, None)):
        return
    found: dict[str, WrittenValue] = {}
    for value, kind, word in LITERALS:
        seen = written(subject, value, kind)
        if seen is not None and seen.text.strip() == str(value):
            found[word] = seen
    if not found or written_as_python(subject):
        return
    words = [f"{each.text.strip()} for {word}" for word, each in found.items()]
    first = next(iter(found.values()))
    yield Hit(
        f"the model reads {', '.join(words)} in its own calls",
        tuple(alone(each.render, f"a call with {word}") for word, each in found.items()),
        line=first.render.line_of(first.text),
    )


RULE = Rule(
    "AP507",
    "python-literals-in-arguments",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write values that are not strings with tojson",
    covers=("AP508",),
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.NOTATION,
)
