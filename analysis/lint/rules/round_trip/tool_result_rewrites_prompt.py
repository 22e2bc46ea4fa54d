"""A tool's result changes what was already in the prompt.

In a tool loop the prompt grows by a call and a result each time, often by dozens of them. Here
the result changes how the call before it is written: the prefix cache is lost at each step, and
training on such conversations teaches turns that never come up.

Before:

    {{- '<assistant>' + call }}{%- if loop.last %}</s>{%- endif %}

After:

    {{- '<assistant>' + call }}</s>
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject

CONTEXT = 30
"""So many characters are quoted of what is rewritten."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render a tool loop as it grows, without reasoning."""
    first, second = subject.call(0), subject.call(1)
    loop: Dialogue = (
        subject.user,
        Message(calls=(first,)),
        subject.answer(first),
        Message(calls=(second,)),
        subject.answer(second),
    )
    renders = [subject.play(loop[:end], tools=True) for end in (2, 3, 5)]
    pairs = ((renders[0], renders[1], "a result"), (renders[1], renders[2], "the next call"))
    for before, after, what in pairs:
        if before.rendered and after.rendered and not after.text.startswith(before.text):
            at = len(common_prefix(before.text, after.text))
            yield Hit(
                f"{what} changes the prompt before it:"
                f" {before.text[at : at + CONTEXT]!r} becomes {after.text[at : at + CONTEXT]!r}",
                (compared(before, f"before {what}", after, f"with {what}"),),
                line=before.line_at(at),
            )
            return


RULE = Rule(
    "AP602",
    "tool-result-rewrites-prompt",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write a call alike whatever comes later",
    covers=("AP609", "AP704"),
    mends=(
        MendedFault(FaultKind.REWRITTEN),
        MendedFault(FaultKind.LEFT_OUT),
    ),
    convention=True,
    concerns=(Concern.CACHE,),
)
