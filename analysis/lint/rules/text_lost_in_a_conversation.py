from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from autoparser.analysis.lint.conversation_matrix import PlayedConversation, SpokenText, Voice
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.lint_renders import line_of_the_lost
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import appends_answer
from autoparser.analysis.lint.subject import Subject

VOICES = (Voice.SYSTEM, Voice.USER, Voice.PREFACE, Voice.ANSWER, Voice.CALL, Voice.RESULT)
"""Speakers with rules of their own: reasoning is omitted from histories on purpose."""


@rule("AP317")
def check(subject: Subject) -> Iterator[Hit]:
    """Search every conversation of the matrix for each voice's texts."""
    for voice in VOICES:
        # Try the template's own form first; text lost in the other form is the subject of another
        # rule.
        for other_form in (False, True):
            alike = [
                played
                for played in subject.wide_matrix
                if played.conversation.other_form == other_form
            ]
            lost = _first_lost(alike, voice)
            if lost is None:
                continue
            played, text = lost
            kept = played.nearest(alike, partial(_keeps, voice=voice))
            if kept is not None:
                yield _lost_text_hit(subject, played, text, kept)
                break


def _first_lost(
    matrix: Sequence[PlayedConversation], voice: Voice
) -> tuple[PlayedConversation, SpokenText] | None:
    # A loss that cannot be intended is reported before one that may be.
    for played in sorted(matrix, key=lambda played: _is_excused(played, voice)):
        for text in played.texts_of(voice) if played.render.rendered else ():
            if not played.holds(text):
                return played, text
    return None


def _is_excused(played_chat: PlayedConversation, voice: Voice) -> bool:
    """Return whether a loss may be intended: by a switch, without tools, or without a question."""
    untold = voice in (Voice.CALL, Voice.RESULT) and not played_chat.conversation.tools
    conversation = played_chat.conversation
    return bool(conversation.setting) or untold or not conversation.generation


def _keeps(played_chat: PlayedConversation, voice: Voice) -> bool:
    texts = [*played_chat.texts_of(voice)]
    return bool(texts) and all(played_chat.holds(text) for text in texts)


def _lost_text_hit(
    subject: Subject,
    losing_chat: PlayedConversation,
    text: SpokenText,
    keeping_chat: PlayedConversation,
) -> Hit:
    meant = (
        _is_excused(losing_chat, text.voice)
        or text.voice is Voice.PREFACE
        or not appends_answer(subject)
    )
    return Hit(
        f"{text.voice} is lost in '{losing_chat.name}', but rendered in '{keeping_chat.name}'",
        losing_chat.against(keeping_chat),
        line=line_of_the_lost(
            losing_chat.render, keeping_chat.render, next(keeping_chat.texts_of(text.voice)).text
        ),
        severity=Severity.WARNING if meant else None,
        setting=losing_chat.conversation.setting,
        confidence=Confidence.MEDIUM if meant else None,
    )
