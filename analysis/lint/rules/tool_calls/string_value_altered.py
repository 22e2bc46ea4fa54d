"""Two different strings as an argument's value come out as the same text.

What the call said cannot be told from the prompt any more: spaces at its edges, a quote or a
backslash are gone or look like something else. Code, patches and patterns suffer from it.

Before:

    {{- value | trim }}

After:

    {{- value }}
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import Render, compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling

PAIRS: tuple[tuple[str, str, str], ...] = (
    ("spaces at its edges", "  {} ", "{}"),
    ("line breaks at its edges", "\n{}\n", "{}"),
    ("a quote", '{}"{}', "{}{}"),
    ("a quote", '{}"{}', "{}'{}"),
    ("a backslash before a quote", '{}\\"{}', '{}"{}'),
    ("a backslash", "{}\\{}", "{}{}"),
    ("a backslash and an n", "{}\\n{}", "{}\n{}"),
    ("a line break", "{}\n{}", "{} {}"),
    ("a character of markup", "{}<{}", "{}&lt;{}"),
    ("capitals", "{}A{}", "{}a{}"),
)
"""What the first string has, it, and a string that says something else."""

HOSTILE = '  \n{}"\'\\"\\n\n< &A{}\n '
"""All of it in one string: where this one is pasted or is JSON, nothing is lost."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render each two strings that differ in one thing."""
    first, second, _ = subject.marks.values
    key = subject.marks.keys[0]
    hostile = HOSTILE.format(first, second)
    whole = calling(subject, **{key: hostile})
    if any(text in whole.text for text in (hostile, json.dumps(hostile, ensure_ascii=False)[1:-1])):
        return
    lost: dict[str, tuple[Render, Render]] = {}
    for what, one, other in PAIRS:
        renders = [calling(subject, **{key: text.format(first, second)}) for text in (one, other)]
        # A template that writes no arguments at all is not meant here.
        if renders[0].text == renders[1].text and first in renders[0].text:
            lost.setdefault(what, (renders[0], renders[1]))
    for what, (render, another) in [*lost.items()][:1]:
        others = [each for each in lost if each != what]
        more = f", nor {', nor '.join(others)}" if others else ""
        yield Hit(
            f"a string argument's {what.removeprefix('a ')} cannot be seen in the prompt{more}",
            (compared(render, f"a value with {what}", another, "another value"),),
            line=render.line_of(first),
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
