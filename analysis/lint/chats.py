"""Conversations that many rules ask for.

`question` and `second_question` are what ordinary callers send, for rules about what a template
takes; all others are in the shape that the template takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Dialogue, Json, Message
from autoparser.analysis.core.format import Literal
from autoparser.analysis.inference.probing import EmptyContent

from .lint_renders import Render
from .subject import Subject

Chat = list[dict[str, Json]]


def said(role: str, content: Json) -> dict[str, Json]:
    """Return a message of a role and a content."""
    return {"role": role, "content": content}


def question(subject: Subject) -> Chat:
    """Return one user message."""
    return [said("user", subject.marks.user)]


def second_question(subject: Subject) -> Chat:
    """Return a user message, its answer, and another user message."""
    marks = subject.marks
    return [*question(subject), said("assistant", marks.content), said("user", marks.next_user)]


def told(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message as the last of a conversation."""
    marks = subject.marks
    return subject.play((subject.user, Message(content or marks.content, reasoning)))


def went_on(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message that a user message follows."""
    message = Message(content or subject.marks.content, reasoning)
    return subject.play((subject.user, message, subject.next_user))


def called(subject: Subject, content: str = "", reasoning: str = "") -> Render:
    """Render an assistant message with a call as the last that the template allows."""
    message = Message(content, reasoning, (subject.call(),))
    return under(subject, subject.turn(message), subject.usual_setting, tools=True)


def calling(subject: Subject) -> Chat:
    """Return the messages of `called`, to be changed where a rule is about their shape."""
    return [dict(each) for each in called(subject).messages]


def changed(chat: Chat, **fields: Json) -> Chat:
    """Return the messages with other fields in the assistant's."""
    return [{**each, **fields} if each["role"] == "assistant" else each for each in chat]


def lacking(chat: Chat, field: str) -> Chat:
    """Return the messages with one field less in the assistant's."""
    return [
        {key: value for key, value in each.items() if key != field}
        if each["role"] == "assistant"
        else each
        for each in chat
    ]


def under(
    subject: Subject,
    dialogue: Dialogue,
    setting: Mapping[str, Json],
    *,
    tools: bool = False,
    generation: bool = False,
) -> Render:
    """Render a conversation in the template's shape, with these switches set and no others."""
    return subject.render(
        subject.shape.messages(dialogue, subject.marks.system),
        tools=subject.offered if tools else None,
        generation=generation,
        setting=setting,
        # What stands for no content must reach the template that asks for it.
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )


def appends(subject: Subject) -> bool:
    """Whether an answer is written after the question, as in a chat.

    Templates of models that judge or translate a conversation put it into a text of their own:
    what they leave out they may well mean to. An end marker may give way to the answer.
    """
    alone = subject.play((subject.user,))
    rest = Literal.of(alone.text[len(common_prefix(alone.text, told(subject).text)) :])
    return subject.marks.user in alone.text and "".join(rest.markers) == rest.core
