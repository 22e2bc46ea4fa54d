"""A step that broke, played again with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.alignment import suffix_length
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import TurnFormat

from .replay import Exchange, Replay, ReplayStage


@dataclass(frozen=True, slots=True)
class BrokenStep:
    """A step that broke, to be played again with one thing changed."""

    stage: ReplayStage
    replay: Replay
    at: int
    """Where the texts part, in the whole; the length of the text where it raised."""

    @property
    def exchange(self) -> Exchange:
        """How the step went."""
        return self.replay.exchange

    @property
    def format(self) -> TurnFormat:
        """How turns are written under the step's setting."""
        return self.replay.format

    def moves(self, exchange: Exchange) -> bool:
        """Say whether the difference is gone, or later, when the step goes so."""
        other = self.stage.play(exchange)
        if other.holds:
            return True
        if other.error is not None or other.at is None:
            return False
        before, after = self.exchange.sampled, exchange.sampled
        if before == after:
            # Another engine may have made another prompt of the same history.
            further = len(other.prompt.text) - len(self.replay.prompt.text)
            return other.at > self.at + further
        # Only after the edit can the text be compared; what is left there is the same text.
        common = suffix_length(before, after)
        return len(other.whole) - other.at < common

    def same_with(self, **changes: Json) -> bool:
        """Say whether the next prompt is the same with other fields of the message."""
        message = {**self.replay.kept.message, **changes}
        kept = {key: value for key, value in message.items() if value is not None}
        return self.stage.with_turn(self.replay, kept) == self.replay.text
