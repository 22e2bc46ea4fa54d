from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autoparser.analysis.lint.conversation_matrix import PlayedConversation, SpokenText, Voice
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import appends_answer
from autoparser.analysis.lint.subject import Subject

ORDERS = (
    (Voice.USER, Voice.ANSWER, Voice.RESULT),
    (Voice.USER, Voice.ANSWER, Voice.CALL),
)
"""Speakers whose texts may change places, or are the subject of other rules: calls alternate with
results, a system message may precede the last question, and content may follow calls."""


@rule("AP320")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for the first two texts of each conversation that are in the wrong order."""
    seen: set[tuple[Voice, Voice]] = set()
    for played in subject.matrix:
        for one, other in _reversed_pairs(played):
            pair = (one.voice, other.voice)
            if pair in seen:
                continue
            seen.add(pair)
            yield played.hit(
                f"{_describe_swap(one, other)} in '{played.name}'",
                played.render.line_of(other.text),
                severity=None if appends_answer(subject) else Severity.WARNING,
            )


def _reversed_pairs(played_chat: PlayedConversation) -> Iterator[tuple[SpokenText, SpokenText]]:
    written = played_chat.render.text
    for voices in ORDERS:
        texts = [text for text in played_chat.texts_of(*voices) if played_chat.holds(text)]
        for one, other in pairwise(texts):
            # The order of a message's arguments may differ.
            if one.call is not None and one.call == other.call:
                continue
            if written.find(one.text) > written.find(other.text):
                yield one, other


def _describe_swap(one: SpokenText, other: SpokenText) -> str:
    if one.voice is other.voice is Voice.RESULT:
        return "the results of two calls are swapped"
    if one.voice is other.voice is Voice.CALL:
        return "two calls are swapped"
    return f"{other.voice} is rendered before {one.voice} that precedes it"
