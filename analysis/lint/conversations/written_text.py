"""The texts of a conversation where its render has them, with what stands around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .played_conversation import PlayedConversation
from .whole_conversation import SpokenText


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text in a render, and the markup up to its neighbours.

    In ``<u>Hi</u><a>Yes</a>`` the answer has ``</u><a>`` before it and ``</a>`` after it.
    """

    spoken: SpokenText
    start: int
    before: str
    after: str
    """Up to the next text; to the end of the render after the last."""


def written_texts(played: PlayedConversation) -> Sequence[WrittenText]:
    """Return the texts that a render holds, in its order."""
    text = played.render.text
    placed = [(text.find(each.text), each) for each in played.conversation.spoken]
    found = sorted((each for each in placed if each[0] >= 0), key=lambda each: each[0])
    ends = [0, *(start + len(each.text) for start, each in found)]
    starts = [*(start for start, _ in found), len(text)]
    return [
        WrittenText(each, start, text[ends[at] : start], text[ends[at + 1] : starts[at + 1]])
        for at, (start, each) in enumerate(found)
    ]
