"""A later message changes what was already in the prompt.

An engine keeps what it has computed for a prompt and goes on from there if the next prompt begins
with it. Here the next prompt of a plain conversation does not: from where they part, all is
computed again, at each turn.

Before:

    {{- '<assistant>' + message.content }}{%- if loop.last %}</s>{%- endif %}

After:

    {{- '<assistant>' + message.content }}</s>
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject

CONTEXT = 30
"""So many characters are quoted of what is rewritten."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render a conversation as it grows, without reasoning and without a generation prompt."""
    said = Message(subject.marks.content)
    grown: tuple[Dialogue, ...] = (
        (subject.user,),
        (subject.user, said),
        (subject.user, said, subject.next_user),
    )
    renders = [subject.play(dialogue) for dialogue in grown]
    whole = renders[-1]
    if not whole.rendered:
        return
    for render, what in zip(renders[:-1], ("a question", "a question and its answer"), strict=True):
        # A template may write nothing of a question until it is answered.
        if render.rendered and not whole.text.startswith(render.text):
            at = len(common_prefix(render.text, whole.text))
            yield Hit(
                f"with a later message the prompt of {what} changes:"
                f" {render.text[at : at + CONTEXT]!r} becomes {whole.text[at : at + CONTEXT]!r}",
                (compared(render, what, whole, "a longer conversation"),),
                line=render.line_at(at),
            )
            return


RULE = Rule(
    "AP601",
    "plain-chat-rewrites-prompt",
    __doc__,
    Severity.WARNING,
    check,
    fix="write each message alike whatever comes later",
    covers=("AP609",),
    mends=(
        MendedFault(FaultKind.REWRITTEN),
        MendedFault(FaultKind.LEFT_OUT),
    ),
    convention=True,
    concerns=(Concern.CACHE,),
)
