"""Whitespace around the reasoning is cut off.

Models begin and end their reasoning with line breaks, and parsers give it back as it came. Where
the template cuts them off, the history holds other tokens than the model wrote.

Before:

    {{ '<thought>' + message.reasoning_content | trim + '</thought>' }}

After:

    {{ '<thought>' + message.reasoning_content + '</thought>' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called, told
from autoparser.analysis.lint.conversations import Voice
from autoparser.analysis.lint.edges import lost_edges, padded
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render reasoning with whitespace at its edges, before content and before a call."""
    word = subject.marks.reasoning
    pairs = [(told(subject, reasoning=padded(word)), told(subject, reasoning=word))]
    if subject.format.calls is not None:
        pairs.append((called(subject, reasoning=padded(word)), called(subject, reasoning=word)))
    for render, plain in pairs:
        lost = lost_edges(render.text, word)
        if lost:
            yield Hit(
                f"whitespace at the {lost} of the reasoning is cut off",
                (compared(render, "with whitespace", plain, "without"),),
                line=render.line_of(word),
            )
            return


RULE = Rule(
    "AP404",
    "reasoning-stripped",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.REASONING,
    fix="write the reasoning as it is",
    mends=(MendedFault(FaultKind.STRIPPED, Voice.REASONING),),
    convention=True,
    concerns=(Concern.TRAINING, Concern.CACHE),
)
