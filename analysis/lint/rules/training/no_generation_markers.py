"""The template does not mark what the model writes.

Training on the model's turns alone needs to know where they are. transformers tells it by the
generation tag, and without one its loss mask is empty; trainers then guess, or refuse.

Before:

    {{- '<assistant>' + message.content + '</s>' }}

After:

    {{- '<assistant>' }}{%- generation %}{{- message.content + '</s>' }}{%- endgeneration %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.marked_render import marked
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for a generation block in a conversation with an answer."""
    dialogue = (subject.user, Message(subject.marks.content))
    if subject.template.marks_generation:
        found = marked(subject, dialogue)
        if found is None or found.blocks:
            return
    render = subject.play(dialogue)
    yield Hit(
        "whoever trains on the model's turns alone gets an empty loss mask from transformers",
        (alone(render, "a question and its answer"),),
        # What the model writes is what the tag would hold.
        line=render.line_of(subject.marks.content),
    )


RULE = Rule(
    "AP701",
    "no-generation-markers",
    __doc__,
    Severity.INFO,
    check,
    fix="have autoparser write the template with generation markers",
    # Few templates have them; who trains selects it.
    default=False,
    marks=True,
    concerns=(Concern.TRAINING,),
)
