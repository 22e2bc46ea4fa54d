from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    Chat,
    call_messages,
    render_last_call,
    without_field,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP110")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call beside content as the template expects it, and without the content key."""
    usual = render_last_call(subject)
    absent = subject.render(
        without_field(call_messages(subject), "content"),
        tools=subject.usual_tools,
    )
    if usual.rendered and absent.error is not None:
        # In requests, a result follows each call; only trainers' conversations end with a call.
        answered = subject.render(
            _call_and_result(subject), tools=subject.usual_tools, generation=True
        )
        last = ", as the last message," if answered.rendered else ""
        yield raising_hit(
            f"a message with calls and no content key{last} {failure_words(absent)}",
            (absent, "no content key"),
            (usual, "as the template expects"),
            crashed=Severity.WARNING if last else None,
            refused=Severity.WARNING,
        )


def _call_and_result(subject: Subject) -> Chat:
    """Return a call without the content key, and its result."""
    loop = subject.play(subject.loop, tools=True, generation=True)
    return without_field([dict(message) for message in loop.messages], "content")
