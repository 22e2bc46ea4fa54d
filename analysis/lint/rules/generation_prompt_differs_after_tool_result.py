"""Generation prompts after a tool result that differ from the text before its answer.

A prompt, the history with its answer, and the finding:

    …<|tool|>It has 22 degrees.<|end|>
    …<|tool|>It has 22 degrees.<|end|><|assistant|>Bring a light coat.<|end|>
    after a tool result the prompt continues with '<|end|>', but the answer in the history with
    '<|end|><|assistant|>'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.conversation_matrix import (
    PlayedConversation,
    Voice,
    WrittenText,
)
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.marker_pairs import last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP215", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the prompt after a result with the text before its answer, up to the header."""
    header = subject.format.header.strip()
    # Without a header in the history, every prompt differs, not only those after a result.
    if not header or not _in_histories(subject, header):
        return
    for played in subject.matrix:
        tail = _tail(played)
        # A switch that prefills a part of the turn may give it a header of its own.
        if tail.count(header) > 1 and not played.conversation.setting:
            yield played.hit(
                f"'{played.name}' ends with {tail.count(header)} generation prompts,"
                f" {quote_text(tail)}",
                played.render.line_at(len(played.render.text) - 1),
            )
    alike = _asked_alike(subject, header)
    for answered, text in _answers(subject):
        asked = _conversation_before(subject, answered, text)
        if asked is None or not asked.render.rendered:
            continue
        tail = _tail(asked)
        # The text after the header is a part of the turn, which a prompt may begin or not.
        before, history = _up_to(header, tail), _up_to(header, text.before)
        headed = None not in (before, history)
        if before != history and (alike or not headed):
            yield Hit(
                f"after a tool result the prompt continues with {quote_text(tail)}, but the"
                f" answer in the history with {quote_text(text.before)}",
                asked.against(answered),
                line=asked.render.line_of(asked.written_texts[-1].spoken.text)
                if headed
                else last_line(asked.render),
                # With a header the model begins the right turn, and only the prefix is lost.
                severity=Severity.WARNING if headed else None,
                setting=answered.conversation.setting,
            )


def _up_to(header: str, text: str) -> str | None:
    """Return the text before a header, or None without one."""
    before, found, _ = text.partition(header)
    return before if found else None


def _asked_alike(subject: Subject, header: str) -> bool:
    """Return whether a prompt after a question and its answer have the same text up to the header.

    If not, AP206 reports all prompts.
    """
    prompt = subject.play((subject.user,), generation=True).text
    answered = subject.play((subject.user, Message(subject.marks.content))).text
    before, history = (text.rpartition(subject.marks.user)[2] for text in (prompt, answered))
    return _up_to(header, before) == _up_to(header, history)


def _in_histories(subject: Subject, header: str) -> bool:
    """Return whether answers to questions have the header that ends prompts."""
    chat = subject.scene("an answer")
    answers = chat.written_by(Voice.ANSWER) if chat is not None else ()
    return any(header in answer.before for answer in answers)


def _tail(played_chat: PlayedConversation) -> str:
    """Return the text after the last message of a prompt; empty if the render is not a prompt."""
    conversation = played_chat.conversation
    if not conversation.generation or conversation.other_form:
        return ""
    texts = played_chat.written_texts
    return texts[-1].after if texts else ""


def _answers(subject: Subject) -> Iterator[tuple[PlayedConversation, WrittenText]]:
    """Yield the answers that directly follow a result."""
    for played in subject.matrix:
        conversation = played.conversation
        if conversation.generation or conversation.other_form:
            continue
        texts = played.written_texts
        for before, text in pairwise(texts):
            if (before.spoken.voice, text.spoken.voice) == (Voice.RESULT, Voice.ANSWER):
                yield played, text


def _conversation_before(
    subject: Subject, answered: PlayedConversation, text: WrittenText
) -> PlayedConversation | None:
    """Return the conversation before an answer."""
    said = answered.conversation
    asked = replace(said, dialogue=said.dialogue[: text.spoken.entry], generation=True)
    return next(
        (
            played
            for played in subject.matrix
            # The two scenes have different names.
            if replace(asked, scene=played.conversation.scene) == played.conversation
        ),
        None,
    )
