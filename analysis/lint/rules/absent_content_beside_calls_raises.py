from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import failed, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import called, calling, lacking
from autoparser.analysis.lint.subject import Subject


@rule("AP110")
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
