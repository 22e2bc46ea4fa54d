"""A conversation of the matrix, what the template made of it, and where its texts stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .conversations import SpokenText, Voice, WholeConversation
from .lint_renders import Render


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


@dataclass(frozen=True)
class PlayedConversation:
    """A conversation of the matrix and what the template made of it."""

    conversation: WholeConversation
    render: Render

    @property
    def name(self) -> str:
        """The conversation's name."""
        return self.conversation.name

    def said(self, *voices: Voice) -> Iterator[SpokenText]:
        """Return the texts of these voices in the order of the conversation."""
        return (each for each in self.conversation.spoken if each.voice in voices)

    @cached_property
    def written(self) -> Sequence[WrittenText]:
        """The texts that the render holds, in its order."""
        text = self.render.text
        placed = [(text.find(each.text), each) for each in self.conversation.spoken]
        found = sorted((each for each in placed if each[0] >= 0), key=lambda each: each[0])
        ends = [0, *(start + len(each.text) for start, each in found)]
        starts = [*(start for start, _ in found), len(text)]
        return [
            WrittenText(each, start, text[ends[at] : start], text[ends[at + 1] : starts[at + 1]])
            for at, (start, each) in enumerate(found)
        ]

    def holds(self, spoken: SpokenText) -> bool:
        """Whether a text is in the render."""
        return spoken.text in self.render.text

    def nearest(
        self, others: Sequence[PlayedConversation], holds: Callable[[PlayedConversation], bool]
    ) -> PlayedConversation | None:
        """Return the conversation most like this one that rendered and holds; None for none."""
        sound = [each for each in others if each.render.rendered and holds(each)]
        return min(sound, key=self._distance, default=None)

    def _distance(self, other: PlayedConversation) -> tuple[bool, int, int]:
        mine, its = self.conversation, other.conversation
        beside = sum(
            (
                bool(mine.system) != bool(its.system),
                mine.tools != its.tools,
                mine.setting != its.setting,
                mine.other_form != its.other_form,
            )
        )
        return mine.scene != its.scene, beside, abs(mine.size - its.size)
