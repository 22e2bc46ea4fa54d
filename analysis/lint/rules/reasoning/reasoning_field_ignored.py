"""The template knows reasoning, but no field of a message brings it into the prompt.

Servers split what the model wrote into reasoning and content, and clients give both back. Here
the reasoning is lost, even in a running tool loop, though the generation prompt or the template's
handling of the content shows that the model reasons.

Before:

    {{ message.content.split('</thought>')[-1] }}
    {%- if add_generation_prompt %}<thought>{% endif %}

After:

    {{ '<thought>' + message.reasoning_content + '</thought>' + message.content }}
    {%- if add_generation_prompt %}<thought>{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.format import Written
from autoparser.analysis.lint.chats import told, under
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, Severity
from autoparser.analysis.lint.lint_renders import Render, compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """See how the analysis came to know of reasoning where no turn has any."""
    format_ = subject.format
    cut, opening = format_.reasoning_cut, format_.reasoning_open.strip()
    if subject.has(Need.REASONING) or not (cut or opening):
        return
    if cut:
        how = f"cuts the content at {quoted(cut)}"
    else:
        how = f"writes {quoted(opening)} in its prompts"
    yield Hit(
        f"the template {how}, but reasoning that a message holds is ignored",
        (_evidence(subject, opening),),
        line=_line(subject, opening),
        # A prompt that ends in an open marker may mean something else by it.
        confidence=None if cut or _closes(subject) else Confidence.MEDIUM,
    )


def _closes(subject: Subject) -> bool:
    return any(each.written is Written.REASONING_CLOSED for each in subject.format.openings)


def _evidence(subject: Subject, opening: str) -> HitEvidence:
    given = told(subject, reasoning=subject.marks.reasoning)
    other = _prompt(subject, opening) or told(subject)
    return compared(given, "with reasoning", other, "the prompt, or the turn without")


def _line(subject: Subject, opening: str) -> int | None:
    """Return the line that opens reasoning in a prompt, or else the one that writes the content."""
    prompt = _prompt(subject, opening)
    if prompt is None:
        return told(subject).line_of(subject.marks.content)
    return prompt.line_at(prompt.text.rindex(opening))


def _prompt(subject: Subject, opening: str) -> Render | None:
    """Return the first prompt that opens reasoning."""
    prompts = (
        under(subject, (subject.user,), each.setting, generation=True)
        for each in subject.format.openings
        if opening and opening in each.text
    )
    return next((each for each in prompts if opening in each.text), None)


RULE = Rule(
    "AP405",
    "reasoning-field-ignored",
    __doc__,
    Severity.WARNING,
    check,
    fix="write the reasoning_content of messages where the model writes its reasoning",
    concerns=(Concern.ENGINES,),
)
