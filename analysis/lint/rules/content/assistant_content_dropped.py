"""What the model said is not in the prompt.

The model does not see its own answers: in a longer conversation it repeats itself and cannot be
asked about what it said, and whoever trains on the conversation trains on nothing.

Before:

    {%- if message.role == 'user' %}{{ message.content }}{% endif %}

After:

    {{ '<|' + message.role + '|>' + message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import appends, told, went_on
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.parting_line import line_that_saw
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer as the last message and as an earlier one."""
    word = subject.marks.content
    last, later = told(subject), went_on(subject)
    for render, words in (
        (later, "an answer is not in the prompt once a user message follows"),
        (last, "an answer is not in the text that ends with it"),
    ):
        if render.rendered and render.text.strip() and not render.holds(word):
            # Who leaves out the question as well shows no history on purpose.
            meant = subject.marks.user not in render.text or not appends(subject)
            yield Hit(
                words,
                (alone(render, "a conversation with an answer"),),
                line=line_that_saw(render, word),
                severity=Severity.WARNING if meant else None,
            )
            return


RULE = Rule(
    "AP305",
    "assistant-content-dropped",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="write the content of assistant messages",
    covers=("AP306",),
    concerns=(Concern.TRAINING,),
)
