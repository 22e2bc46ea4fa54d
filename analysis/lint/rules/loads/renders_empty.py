"""The prompt is empty.

A server sends the model nothing, or only its begin token, and the model writes whatever it
likes. Nothing fails, so it shows only in the answers.

Before:

    {%- for message in messages %}{% set text = message.content %}{% endfor %}

After:

    {%- for message in messages %}{{ message.content }}{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.inference.probing import ContentForm
from autoparser.analysis.lint.chats import question
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.parting_line import line_that_saw
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message and see whether anything comes of it."""
    render = subject.render(question(subject), generation=True)
    if render.rendered and not render.text.strip():
        yield Hit(
            "the prompt of a user message is empty: the model is not asked anything",
            (alone(render, "one user message, with the generation prompt"),),
            line=line_that_saw(render, subject.marks.user),
            # Servers know templates that take parts alone, and send them so.
            severity=Severity.WARNING if subject.shape.user_content is ContentForm.PARTS else None,
        )


RULE = Rule(
    "AP103",
    "renders-empty",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="write the content of every message",
    covers=("AP312",),
    concerns=(Concern.ENGINES,),
)
