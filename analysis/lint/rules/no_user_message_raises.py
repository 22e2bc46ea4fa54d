from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import Chat, role_message, user_question
from autoparser.analysis.lint.subject import Subject


@rule("AP114")
def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations that do not begin with a user."""
    shape, marks = subject.shape, subject.marks
    system = role_message("system", shape.user_text(marks.system))
    user = role_message("user", shape.user_text(marks.user))
    answer = role_message("assistant", marks.content)
    usual = subject.play((subject.user,), system=marks.system, generation=True)
    cases: list[tuple[str, Chat]] = [("with an assistant message first", [answer, user])]
    if usual.rendered:
        cases.insert(0, ("with only a system message", [system]))
    else:
        usual = subject.render(user_question(subject), generation=True)
    if not usual.rendered:
        return
    for words, messages in cases:
        render = subject.render(messages, generation=True)
        if render.error is not None:
            yield raising_hit(
                f"a conversation {words} {failure_words(render)}",
                (render, words),
                (usual, "a user message first"),
                crashed=Severity.WARNING,
            )
