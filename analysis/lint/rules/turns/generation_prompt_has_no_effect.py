"""`add_generation_prompt` changes nothing.

Where turns begin with a header, the model has to write it itself, and often goes on with the
user's message instead. Where the header is always written, whoever trains on the conversation
trains on a turn that never comes.

Before:

    {%- for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% endfor %}

After:

    {%- for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% endfor %}
    {%- if add_generation_prompt %}<|assistant|>{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import under
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.prompts import last_line
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render one user message with a generation prompt and without."""
    without = under(subject, (subject.user,), {})
    prompt = under(subject, (subject.user,), {}, generation=True)
    if not prompt.rendered or prompt.text != without.text:
        return
    header = subject.format.header.strip()
    severity = None
    if not header:
        message, severity = "add_generation_prompt has no effect; turns have no header", _LIGHT
    elif prompt.text.rstrip().endswith(header):
        message = f"the generation prompt {quoted(header)} is written even where none is asked for"
    else:
        message = f"add_generation_prompt has no effect: the model must write {quoted(header)}"
    yield Hit(
        message,
        (compared(prompt, "with a generation prompt", without, "without"),),
        line=last_line(prompt),
        severity=severity,
    )


_LIGHT = Severity.INFO

RULE = Rule(
    "AP204",
    "generation-prompt-has-no-effect",
    __doc__,
    Severity.WARNING,
    check,
    fix="write what begins the assistant's turn if add_generation_prompt is set, and only then",
    mends=(MendedFault(FaultKind.NO_PROMPT),),
    concerns=(Concern.TRAINING,),
)
