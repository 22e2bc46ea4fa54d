"""Two messages of the assistant in a row, as clients send them that split what a model wrote."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Message

from .lint_renders import Render
from .subject import Subject


def neighbouring_answers(subject: Subject) -> Render:
    """Render two answers one after the other, between two questions."""
    marks = subject.marks
    answers = (Message(marks.content), Message(marks.reasoning))
    return subject.play((subject.user, *answers, subject.next_user))
