"""Whitespace around what the user said is cut off.

Mostly meant so, and mostly harmless. It matters where the whitespace is part of the question: an
indented first line of code, a text to be completed.

Before:

    {{ message.content | trim }}

After:

    {{ message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import User
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.edges import lost_edges, padded
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.rule import FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with whitespace at its edges."""
    word = subject.marks.user
    render = subject.play((User(padded(word)),), generation=True)
    lost = lost_edges(render.text, word)
    if lost:
        plain = subject.play((subject.user,), generation=True)
        yield Hit(
            f"whitespace at the {lost} of what the user said is cut off",
            (compared(render, "with whitespace", plain, "without"),),
            line=render.line_of(word),
        )


RULE = Rule(
    "AP302",
    "user-content-stripped",
    __doc__,
    Severity.INFO,
    check,
    fix="write the content as it is",
    mends=(MendedFault(FaultKind.STRIPPED, Voice.USER),),
    convention=True,
)
