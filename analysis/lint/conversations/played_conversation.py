"""A conversation of the matrix and what the template made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.lint.renders import Render

from .whole_conversation import SpokenText, Voice, WholeConversation


@dataclass(frozen=True, slots=True)
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
