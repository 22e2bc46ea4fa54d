from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit, HitEvidence
from autoparser.analysis.lint.hit_words import failure_words, list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import Chat, role_message, user_question
from autoparser.analysis.lint.subject import Subject


class TextPartOutcome(StrEnum):
    """The fate of a text part."""

    RAISES = "raises"
    PRINTED = "is printed as a Python list"
    DROPPED = "is dropped"
    FIRST_ALONE = "is dropped after its first part"


@rule("AP108")
def check(subject: Subject) -> Iterator[Hit]:
    """Render each role's content as a text, and as a list of one part and of two."""
    found: dict[TextPartOutcome, list[tuple[str, Render, Render]]] = {}
    for role, content in (
        ("system", subject.marks.system),
        ("user", subject.marks.user),
        ("assistant", subject.marks.content),
    ):
        text = subject.render(_chat(subject, role, content), setting={})
        part: Json = {"type": "text", "text": content}
        parts = subject.render(_chat(subject, role, [part]), setting={})
        outcome = _part_outcome(parts, content)
        if outcome is None:
            # Clients send the text of a file and the question about it as two parts.
            more: Json = {"type": "text", "text": subject.marks.next_user}
            parts = subject.render(_chat(subject, role, [part, more]), setting={})
            lost = subject.marks.next_user not in parts.text
            outcome = TextPartOutcome.FIRST_ALONE if lost and parts.rendered else None
        if content in text.text and outcome is not None:
            found.setdefault(outcome, []).append((role, parts, text))
    for outcome, cases in found.items():
        yield _parts_hit(outcome, cases)


def _chat(subject: Subject, role: str, content: Json) -> Chat:
    message = role_message(role, content)
    if role == "user":
        return [message]
    return (
        [message, *user_question(subject)]
        if role == "system"
        else [*user_question(subject), message]
    )


def _part_outcome(parts: Render, word: str) -> TextPartOutcome | None:
    if not parts.rendered:
        return TextPartOutcome.RAISES
    if word not in parts.text:
        return TextPartOutcome.DROPPED
    # Python's and JSON's spelling of a dict.
    printed = any(f"{mark}text{mark}: {mark}{word}{mark}" in parts.text for mark in "'\"")
    return TextPartOutcome.PRINTED if printed else None


def _parts_hit(outcome: TextPartOutcome, cases: list[tuple[str, Render, Render]]) -> Hit:
    _, parts, text = cases[0]
    what = failure_words(parts) if outcome is TextPartOutcome.RAISES else str(outcome)
    printed = outcome is TextPartOutcome.PRINTED
    line = parts.line_of("type") if printed else parting_line(parts, text)
    evidence: list[HitEvidence] = [
        compare_renders(one, f"{name}: a list of parts", other, f"{name}: text")
        for name, one, other in cases
    ]
    roles = list_words([name for name, *_ in cases])
    return Hit(
        f"content as a list of text parts ({roles}) {what}",
        tuple(evidence),
        line=line,
        cause=parts.cause,
        loses=outcome in (TextPartOutcome.DROPPED, TextPartOutcome.FIRST_ALONE),
    )
