"""A parser of one output whose token ids are known: what only looks like a marker is text."""

from __future__ import annotations

from collections.abc import Sequence

from .collector import Collector
from .parsed_message import Delta, ParsedMessage
from .spelled_markers import MarkerTokens, Spelled
from .stream import StreamParser
from .turn_reader import TurnReader


class IdentifiedStream(StreamParser):
    """Reads one output piece by piece, with its ids."""

    __slots__ = ("_spelled",)

    def __init__(
        self, reader: TurnReader, collector: Collector, tokens: MarkerTokens, *, prefill: str = ""
    ) -> None:
        """Begin; `prefill` is what the prompt wrote of the message."""
        super().__init__(reader, collector, prefill=prefill)
        self._spelled = Spelled(tokens)

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Take a piece of text, and the ids that are new; return what it adds to the message.

        The text of an id may come later than the id, as engines give it where a character is not
        whole. An id that is out of the vocabulary has no text.
        """
        return self._spelled.shown(super().feed(self._spelled.hide(text, ids)))

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; return what is left to add, and last the finish reason."""
        return self._spelled.shown(super().finish(complete=complete))

    @property
    def message(self) -> ParsedMessage:
        """The message as far as it has come."""
        return self._spelled.whole(super().message)
