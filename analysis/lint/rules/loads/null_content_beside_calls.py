"""Content that is null beside a call fails or is printed as a word.

In OpenAI's API the content of a message that calls a tool is null, and clients append that
message to the history as it came. transformers drops the key since 5.23; other servers, and
older versions, hand null to the template.

Before:

    {{ message.content }}

After:

    {{ message.content or '' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called, calling, changed
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject

WORDS = ("None", "null")
"""As Python and JSON print it."""


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call beside content that is empty, and beside null as it is."""
    usual = called(subject)
    null = subject.render(
        changed(calling(subject), content=None),
        tools=subject.offered,
        setting=subject.usual_setting,
        as_given=True,
    )
    if not usual.rendered:
        return
    evidence = (compared(null, "content: null", usual, "as the template wants it"),)
    printed = [word for word in WORDS if null.text.count(word) > usual.text.count(word)]
    if null.error is not None:
        message, line = f"content: null beside a call {failed(null)}", null.error.line
    elif printed:
        message = f"content: null beside a call is printed as the word {printed[0]}"
        line = null.line_of(printed[0])
    elif null.text.count(subject.call().name) < usual.text.count(subject.call().name):
        message, line = "a call beside content: null is dropped", None
    else:
        return
    yield Hit(message, evidence, line=line, cause=null.cause)


RULE = Rule(
    "AP109",
    "null-content-beside-calls",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write `message.content or ''`, or ask for the content before it is used",
    mends=(MendedFault(FaultKind.OTHERWISE, "content of null"),),
    concerns=(Concern.ENGINES,),
)
