from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import appends_answer
from autoparser.analysis.lint.subject import Subject


@rule("AP318")
def check(subject: Subject) -> Iterator[Hit]:
    """Count each text of every conversation of the matrix in its prompt."""
    seen: set[Voice] = set()
    for played in subject.matrix:
        written = played.render.text
        for spoken in played.conversation.spoken:
            times = written.count(spoken.text)
            if spoken.voice in seen or times <= 1:
                continue
            seen.add(spoken.voice)
            yield played.hit(
                f"{spoken.voice} is rendered {times} times in '{played.name}'",
                played.render.line_at(written.rfind(spoken.text)),
                # Templates that judge or translate a conversation may repeat it.
                confidence=None if appends_answer(subject) else Confidence.MEDIUM,
                severity=None if appends_answer(subject) else Severity.WARNING,
            )
