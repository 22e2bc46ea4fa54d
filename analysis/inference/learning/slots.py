"""Slots: places in a text that move with one thing, read off two renders that differ in it."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.format import Row, Slot

from .learnt_rows import cut_at


@dataclass(frozen=True, slots=True)
class SeenSlot:
    """Where one thing stands in a text that is made of sentinels."""

    slot: Slot
    word: str
    """What stands for it."""
    times: int = 1

    def cut(self, row: Row) -> Row:
        """Put the slot into the literals of a row."""
        return cut_at(row, self.word, self.slot)


def learn_slot(slot: Slot, word: str, one: str | None, other: str | None) -> SeenSlot | None:
    """Find what moves with a thing: `word` shows in `one`, and another in its place in `other`.

    None where nothing does: the thing is not written, or what is written comes from elsewhere.
    A text that is None was refused, and says nothing.
    """
    times = (one or "").count(word) - (other or "").count(word)
    return SeenSlot(slot, word, times) if times > 0 else None
