"""Without its generation tags the template renders another text.

The tag opens a scope: what is set inside is forgotten after it. The template thus depends on the
tag, and with an engine that leaves tags out, or a copy of the template without them, prompts
differ from what was trained on.

Before:

    {%- generation %}{%- set seen = true %}…{%- endgeneration %}{%- if seen %}…{%- endif %}

After:

    {%- set seen = true %}{%- generation %}…{%- endgeneration %}{%- if seen %}…{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.engines import compiled, elsewhere, environment
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render with tags that open no scope."""
    if not subject.template.marks_generation:
        return
    other = environment(scoped=False)
    for each in elsewhere(subject, other, compiled(subject, other)):
        if each.differs:
            yield Hit(
                f"{each.what} is another text without the generation tags",
                (
                    HitEvidence(
                        each.usual.shown("with generation tags"),
                        ShownText("without", each.text, each.error),
                    ),
                ),
            )
            return


RULE = Rule(
    "AP705",
    "generation-markers-change-the-text",
    __doc__,
    Severity.WARNING,
    check,
    fix="set variables outside the generation block, or in a namespace",
    concerns=(Concern.TRAINING,),
)
