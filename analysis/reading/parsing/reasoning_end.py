"""Where reasoning ends, by token ids: a pure function, a step as long as its new ids.

An engine asks it between two steps of generation, say to let a grammar begin. It keeps no text and
no ids: a state is a few numbers, may be kept, compared, and gone back to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from autoparser.analysis.reading.expression import RequestError, Start, Turn

if TYPE_CHECKING:
    from autoparser.analysis.loading.tokens import ModelTokenizer


class Thinking(StrEnum):
    """Where an output stands."""

    UNDECIDED = "undecided"
    """What was written may still become the marker that opens the reasoning."""
    OPEN = "open"
    OVER = "over"
    """The reasoning has closed, or the output began without any."""


@dataclass(frozen=True, slots=True)
class ReasoningState:
    """What is known after some ids."""

    thinking: Thinking
    ids: int = 0
    """How many were read; once the reasoning is over, those that hold it, 0 where there is none."""
    begun: bytes = b""
    """While undecided: what was written."""
    matched: int = 0
    """While open: how much of the marker that closes it stands at the end."""

    @property
    def over(self) -> bool:
        """Whether the reasoning has ended."""
        return self.thinking is Thinking.OVER


class ReasoningEnd:
    """Follows the ids of outputs after one prompt; a state goes in, the next one comes out.

    A marker that is a token of its own is seen as that token alone; one that is several tokens is
    seen however it is cut, also in the middle of a token.
    """

    def __init__(self, turn: Turn, tokenizer: ModelTokenizer) -> None:
        """Prepare for outputs of this turn. Raises RequestError where no text ends reasoning."""
        from autoparser.analysis.loading.tokens import Marker  # noqa: PLC0415 - a tokenizer is here

        # The table is made here, once for a tokenizer, and not with the first id.
        self._bytes, self._added = tokenizer.token_bytes, tokenizer.added
        self._units: dict[int, bytes] = {}
        reasoning = turn.reasoning
        if reasoning is None or turn.start is Start.CONTENT:
            self.begin = ReasoningState(Thinking.OVER)
            """The state before the first id."""
            return
        if not reasoning.close.core:
            raise RequestError("the reasoning has no text that ends it")
        self._close = Marker(self._written(reasoning.close.core))
        opening = self._written(reasoning.open.core)
        header = turn.header
        self._opens = (opening, self._written(header.core + header.after) + opening)
        opened = turn.start is Start.REASONING or reasoning.leads
        self.begin = ReasoningState(Thinking.OPEN if opened else Thinking.UNDECIDED)

    def after(self, state: ReasoningState, ids: Sequence[int]) -> ReasoningState:
        """Return the state after these ids, which follow on those that led to `state`."""
        for id_ in ids:
            if state.over:
                break
            state = self._step(state, self._bytes_of(id_))
        return state

    def _step(self, state: ReasoningState, written: bytes) -> ReasoningState:
        """Read the bytes of one id."""
        ids = state.ids + 1
        if state.thinking is Thinking.UNDECIDED:
            begun = (state.begun + written).lstrip()
            opening = next((each for each in self._opens if each and begun.startswith(each)), None)
            if opening is None:
                if any(each.startswith(begun) for each in self._opens):
                    return ReasoningState(Thinking.UNDECIDED, ids, begun)
                # What opens nothing is the answer itself.
                return ReasoningState(Thinking.OVER)
            written = begun[len(opening) :]
        matched, rest = self._close.read(state.matched, written)
        if rest is not None:
            return ReasoningState(Thinking.OVER, ids)
        return ReasoningState(Thinking.OPEN, ids, matched=matched)

    def _bytes_of(self, id_: int) -> bytes:
        """Return what an id writes; for a token of the markers, what no other id writes."""
        unit = self._units.get(id_)
        if unit is not None:
            return unit
        return self._bytes[id_] if 0 <= id_ < len(self._bytes) else b""

    def _written(self, marker: str) -> bytes:
        """Return a marker as its ids write it, those tokens in it noted that are its own."""
        added = {each.text: each.id for each in self._added if each.text.strip()}
        longest = sorted(filter(marker.__contains__, added), key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, longest)) or '(?!)'})", marker)
        written = b""
        for at, piece in enumerate(pieces):
            if at % 2:
                # Bytes that no text has.
                written += self._units.setdefault(added[piece], b"\xff%d\xff" % added[piece])
            else:
                written += piece.encode()
        return written
