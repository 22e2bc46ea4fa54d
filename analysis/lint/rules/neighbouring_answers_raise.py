from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import went_on
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.neighbours import neighbouring_answers
from autoparser.analysis.lint.quoting import failed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP119")
def check(subject: Subject) -> Iterator[Hit]:
    """Render one answer, and two."""
    one, two = went_on(subject), neighbouring_answers(subject)
    if one.rendered and two.error is not None:
        message = f"a second message of the assistant after the first {failed(two)}"
        yield raising_hit(message, two, "two in a row", one, "one answer", crashed=Severity.ERROR)
