r"""Letters beyond ASCII are written as escapes in a call's arguments.

The model writes é and reads \u00e9: the prefix cache ends there, the prompt is several times as
long for most of the world's languages, and models begin to write the escapes themselves.

Before:

    {{- arguments | tojson(ensure_ascii=true) }}

After:

    {{- arguments | tojson }}
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling

LETTERS = "é日ж"


def check(subject: Subject) -> Iterator[Hit]:
    """Render a string of such letters."""
    marks = subject.marks
    render = calling(subject, **{marks.keys[0]: f"{marks.values[0]}{LETTERS}"})
    escaped = json.dumps(LETTERS)[1:-1]
    if render.rendered and LETTERS not in render.text and escaped in render.text:
        yield Hit(
            f"the model reads {escaped} where its call said {LETTERS}",
            (alone(render, f"a call with {LETTERS}"),),
            line=render.line_of(escaped),
        )


RULE = Rule(
    "AP512",
    "non-ascii-escaped",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="use tojson without ensure_ascii",
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.NOTATION,
)
