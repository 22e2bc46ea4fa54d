"""A message with calls and no content raises.

transformers drops a content of null since 5.23, so this is what every message that only calls a
tool looks like there: the second request of every tool loop fails.

Before:

    {{ '<|assistant|>' + message.content }}

After:

    {{ '<|assistant|>' + (message.content or '') }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import called, calling, lacking
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call beside content as the template wants it, and with no content key."""
    usual = called(subject)
    absent = subject.render(
        lacking(calling(subject), "content"),
        tools=subject.offered,
        setting=subject.usual_setting,
    )
    if usual.rendered and absent.error is not None:
        yield raising_hit(
            f"a message with calls and no content {failed(absent)}",
            absent,
            "no content key",
            usual,
            "as the template wants it",
            refused=Severity.WARNING,
        )


RULE = Rule(
    "AP110",
    "absent-content-beside-calls-raises",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write `message.content or ''`, or ask for the content before it is used",
    mends=(MendedFault(FaultKind.OTHERWISE, "no content"),),
    concerns=(Concern.ENGINES,),
)
