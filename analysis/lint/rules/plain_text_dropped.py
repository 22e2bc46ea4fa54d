from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Json, Message
from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint.hit import TEXT_DROPPED, Hit
from autoparser.analysis.lint.hit_words import list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP319")
def check(subject: Subject) -> Iterator[Hit]:
    """Render the content of each role as a text, then as a list of one part."""
    marks = subject.marks
    found = [
        (role, *pair)
        for role, word in (
            ("system", marks.system),
            ("user", marks.user),
            ("assistant", marks.content),
            ("tool", marks.answer),
        )
        if (pair := _dropped_text(subject, role, word)) is not None
    ]
    if found:
        taken = (subject.shape.user_content, subject.shape.assistant_content)
        roles = list_words([role for role, *_ in found])
        yield Hit(
            f"string content ({roles}) is dropped; a list of parts is rendered",
            tuple(
                compare_renders(text, f"{role}: a string", parts, "parts")
                for role, text, parts in found
            ),
            line=parting_line(*found[0][1:]),
            cause=TEXT_DROPPED if ContentForm.PARTS in taken else None,
        )


def _dropped_text(subject: Subject, role: str, word: str) -> tuple[Render, Render] | None:
    text = _render_role(subject, role, word)
    if not text.rendered or text.holds(word):
        return None
    parts = _render_role(subject, role, [{"type": "text", "text": word}])
    return (text, parts) if word in parts.text else None


def _render_role(subject: Subject, role: str, content: Json) -> Render:
    messages = [
        {**message, "content": content} if message["role"] == role else message
        for message in subject.shape.messages(_dialogue(subject, role), subject.marks.system)
    ]
    if role == "system" and not subject.shape.system:
        messages.insert(0, role_message(role, content))
    return subject.render(
        messages,
        tools=subject.usual_tools if role == "tool" else None,
        # A prompt after an answer would begin a second turn of the model.
        generation=role != "assistant",
    )


def _dialogue(subject: Subject, role: str) -> Dialogue:
    match role:
        case "assistant":
            return (subject.user, Message(subject.marks.content))
        case "tool" if subject.format.calls is not None:
            return subject.loop
        case _:
            return (subject.user,)
