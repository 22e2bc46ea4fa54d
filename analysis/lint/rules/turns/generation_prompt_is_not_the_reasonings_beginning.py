r"""The generation prompt does not begin the turn, though the reasoning was given back.

A caller who keeps the reasoning does all that can be done, and still the history is not what the
model went on from: the prefix cache ends at every turn, and training shows another beginning.

Before:

    {{ '<|assistant|><thought>' + message.reasoning_content + '</thought>' + message.content }}
    {%- if add_generation_prompt %}{{ '<|assistant|><thought>\n' }}{% endif %}

After:

    {{ '<|assistant|><thought>\n' + message.reasoning_content + '</thought>' + message.content }}
    {%- if add_generation_prompt %}{{ '<|assistant|><thought>\n' }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.format import Written
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.prompts import beginnings
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Hold the usual prompt against a turn whose reasoning the template writes."""
    for each in beginnings(subject):
        if each.opening.setting or each.opening.written is Written.REASONING_CLOSED:
            continue
        shows = subject.marks.reasoning in each.reasoned.text
        if shows and not each.begins_plain and not each.begins_reasoned and each.prompt.rendered:
            yield Hit(
                "the generation prompt does not begin a turn whose reasoning is given back:"
                f" {each.where(reasoned=True)}",
                (compared(each.prompt, "the prompt", each.reasoned, "the turn with reasoning"),),
                line=each.line,
            )


RULE = Rule(
    "AP208",
    "generation-prompt-is-not-the-reasonings-beginning",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.REASONING,
    fix="open the reasoning of a turn with the very text that the generation prompt ends in",
    covers=("AP206",),
    concerns=(Concern.TRAINING, Concern.CACHE),
    unfixed=NoFix.NOTATION,
)
