"""The newline at the end of the file decides how the prompt ends.

Jinja leaves out one newline at a template's end; some engines keep it, and editors add and remove
it. Here it stands after the generation prompt, where the model's turn begins.

Before:

    {%- if add_generation_prompt %}<assistant>{%- endif %}
    {{ '' }}⏎

After:

    {%- if add_generation_prompt %}<assistant>{%- endif -%}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.engines import compiled, elsewhere, environment
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject

ENDS = ("%}", "#}", "-}}")
"""After these the newline is left out in any case: a quick way out."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render with the last newline kept."""
    text = subject.template.text
    if not text.endswith("\n") or text.rstrip("\r\n").endswith(ENDS):
        return
    other = environment(newline=True)
    for each in elsewhere(subject, other, compiled(subject, other)):
        if each.differs:
            yield Hit(
                "an engine that keeps the file's last newline writes it after the generation"
                " prompt",
                (
                    HitEvidence(
                        each.usual.shown("as transformers renders it"),
                        ShownText("with the last newline kept", each.text, each.error),
                    ),
                ),
                line=text.count("\n"),
            )
            return


RULE = Rule(
    "AP809",
    "depends-on-last-newline",
    __doc__,
    Severity.INFO,
    check,
    fix="end the template with a tag that takes the whitespace after it away",
    concerns=(Concern.ENGINES,),
)
