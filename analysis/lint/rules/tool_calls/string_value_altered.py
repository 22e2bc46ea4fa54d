"""Two different strings as an argument's value come out as the same text.

What the call said cannot be told from the prompt any more: spaces at its edges, a quote or a
backslash are gone or look like something else. Code, patches and patterns suffer from it.

Before:

    {{- value | trim }}

After:

    {{- value }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.edges import (
    EDGE_PAIRS,
    HOSTILE_TEXT,
    INNER_PAIRS,
    alike_in_prompt,
    unseen_words,
)
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling


def check(subject: Subject) -> Iterator[Hit]:
    """Render each two strings that differ in one thing."""
    key, words = subject.marks.keys[0], subject.marks.values[:2]
    lost = alike_in_prompt(
        lambda text: calling(subject, **{key: text}),
        words,
        (*EDGE_PAIRS, *INNER_PAIRS),
        HOSTILE_TEXT,
    )
    for what, (render, another) in [*lost.items()][:1]:
        yield Hit(
            unseen_words("a string argument", lost),
            (compared(render, f"a value with {what}", another, "another value"),),
            line=render.line_of(words[0]),
        )


RULE = Rule(
    "AP509",
    "string-value-altered",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write the value as it is given, or with tojson",
    concerns=(Concern.TRAINING,),
    unfixed=NoFix.NOTATION,
)
