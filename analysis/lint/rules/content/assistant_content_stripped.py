"""Whitespace around what the model said is cut off.

The history then holds another text than the model wrote. Where it began or ended with a line
break, which many models do, its tokens are not found again in the prefix cache.

Before:

    {{ message.content | trim }}

After:

    {{ message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import told, went_on
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.edges import lost_edges, padded
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer with whitespace at its edges, as the last and as an earlier one."""
    word = subject.marks.content
    for render, plain, when in (
        (told(subject, padded(word)), told(subject), ""),
        (went_on(subject, padded(word)), went_on(subject), " once another message follows"),
    ):
        lost = lost_edges(render.text, word)
        if lost:
            yield Hit(
                f"whitespace at the {lost} of what the model said is cut off{when}",
                (compared(render, "with whitespace", plain, "without"),),
                line=render.line_of(word),
            )
            return


RULE = Rule(
    "AP301",
    "assistant-content-stripped",
    __doc__,
    Severity.WARNING,
    check,
    fix="write the content as it is",
    covers=("AP303",),
    mends=(
        MendedFault(FaultKind.STRIPPED, Voice.ANSWER),
        MendedFault(FaultKind.STRIPPED, Voice.PREFACE),
    ),
    convention=True,
    concerns=(Concern.TRAINING, Concern.CACHE),
)
