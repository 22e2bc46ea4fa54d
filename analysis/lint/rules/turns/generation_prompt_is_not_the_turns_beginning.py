r"""The generation prompt does not begin the turn that follows it.

What the model is asked to go on from is not what stands before its words once they are in the
history, and not what it was trained on. The prefix cache ends there, at every turn.

Before:

    {%- if message.role == 'assistant' %}{{ '<|assistant|>' + message.content }}{% endif %}
    {%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}

After:

    {%- if message.role == 'assistant' %}{{ '<|assistant|>\n' + message.content }}{% endif %}
    {%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.prompts import beginnings
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Hold each setting's prompt against the turn, with reasoning and without."""
    for each in beginnings(subject):
        if each.known and not each.begins_plain and not each.begins_reasoned:
            yield each.departing(subject, "the assistant's turn")
            return


RULE = Rule(
    "AP206",
    "generation-prompt-is-not-the-turns-beginning",
    __doc__,
    Severity.ERROR,
    check,
    fix="begin the turn in the history with the very text of the generation prompt",
    concerns=(Concern.TRAINING, Concern.CACHE),
    unfixed=NoFix.NOTATION,
)
