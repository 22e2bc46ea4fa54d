"""A reasoning field that is null or empty fails, or is written as reasoning.

Servers answer with the field beside every message, null or empty where the model did not reason,
and clients append that message to the history as it came. transformers drops what is null since
5.23; other servers, and older versions, hand it to the template.

Before:

    {%- if message.reasoning_content is defined %}
        {{- '<thought>' + message.reasoning_content + '</thought>' }}
    {%- endif %}

After:

    {%- if message.reasoning_content %}
        {{- '<thought>' + message.reasoning_content + '</thought>' }}
    {%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.chats import changed, told
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.loading.template import REASONING_FIELDS

VALUES: tuple[tuple[Json, str], ...] = ((None, "null"), ("", "empty"))


def check(subject: Subject) -> Iterator[Hit]:
    """Render an answer without the field, and with every name of it null, then empty."""
    usual = told(subject)
    if not usual.rendered:
        return
    for value, words in VALUES:
        fields: dict[str, Json] = dict.fromkeys(REASONING_FIELDS, value)
        given = subject.render(
            changed([dict(each) for each in usual.messages], **fields),
            setting=subject.usual_setting,
            as_given=True,
        )
        if given.rendered and given.text == usual.text:
            continue
        what = failed(given) if given.error is not None else "is not written like one without"
        yield Hit(
            f"an answer whose reasoning field is {words} {what}",
            (compared(given, f"the field is {words}", usual, "no such field"),),
            line=parting_line(given, usual),
            cause=given.cause,
        )
        return


RULE = Rule(
    "AP411",
    "null-or-empty-reasoning",
    __doc__,
    Severity.WARNING,
    check,
    fix="ask with `if message.reasoning_content`, not whether the field is there",
    mends=(
        MendedFault(FaultKind.OTHERWISE, "reasoning of null"),
        MendedFault(FaultKind.OTHERWISE, "empty reasoning"),
    ),
    concerns=(Concern.ENGINES,),
)
