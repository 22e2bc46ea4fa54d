from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP107")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message alone, and after a system message."""
    bare = subject.play((subject.user,), generation=True)
    led = subject.play((subject.user,), system=subject.marks.system, generation=True)
    if not bare.rendered or led.error is None:
        return
    as_text = subject.render(
        [role_message("system", subject.marks.system), *bare.messages],
        generation=True,
    )
    if not as_text.rendered:
        message = f"a system message {failure_words(led)}"
        yield raising_hit(
            message, (led, "with a system message"), (bare, "without"), crashed=Severity.WARNING
        )
