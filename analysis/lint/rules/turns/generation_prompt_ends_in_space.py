"""The generation prompt ends in a space.

Most tokenizers join a space with the word after it. The model was trained on the joined token
and is now asked for a word without its space, which is rare: it doubles the space or begins with
an odd piece of a word.

Before:

    {%- if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}

After:

    {%- if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import under
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.prompts import last_line
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look at the last character of the prompt."""
    prompt = under(subject, (subject.user,), {}, generation=True)
    _, _, added = prompt.text.rpartition(subject.marks.user)
    if added.endswith(" ") and added.strip():
        last = added[added.rfind("\n", 0, -1) + 1 :]
        yield Hit(
            f"the generation prompt ends in a space: {quoted(last)}",
            (alone(prompt, "a user message, with the generation prompt"),),
            line=last_line(prompt),
        )


RULE = Rule(
    "AP213",
    "generation-prompt-ends-in-space",
    __doc__,
    Severity.WARNING,
    check,
    confidence=Confidence.MEDIUM,
    fix="leave the space to the model",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.NOTATION,
)
