"""With how little before it a turn is bridged alike, so that a bridge renders no more than that.

A prompt may offer a hundred tools and end with the result of a call, and what a template writes
after a turn hardly ever depends on tools that are not called, or on the call before. Whether it
does is asked once for each kind of turn, of the render with all of it: only where the same is
bridged without, it is left out from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.conversation import Message as Turn

from .history_renders import Messages
from .skeleton import Base, Skeletons

MOST_KINDS = 256
"""Kinds of turns that are told apart at a time: the names that are called are part of a kind."""


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """What a bridge makes of a turn after one base; where it refuses, there is none."""

    written: str
    """The turn as the template writes it, and all that follows."""
    rest: str
    """What stands after the turn's last text."""
    notes: tuple[str, ...]
    """What is kept of the turn and of what stands before it."""


_Kind: TypeAlias = tuple[object, ...]


class ShorterBases:
    """Finds out what a conversation after a prompt can do without."""

    def __init__(self, skeletons: Skeletons) -> None:
        """Prepare; nothing is rendered yet."""
        self._skeletons = skeletons
        self._known: dict[_Kind, tuple[Base, tuple[str, ...]] | None] = {}
        """None: the kind was seen once, which a proof is not worth, or needs all of it."""
        self._asked: set[_Kind] = set()

    def base(self, kind: _Kind) -> tuple[Base, tuple[str, ...]] | None:
        """Return what may stand before turns of a kind, and the notes of a bridge after it."""
        return self._known.get(kind)

    def forget(self, kind: _Kind) -> None:
        """Have turns of a kind bridged after all that may matter, as one of them needs it."""
        self._known[kind] = None

    def learn(
        self,
        kind: _Kind,
        base: Base,
        named: tuple[str, ...],
        place: Callable[[Base], PlacedTurn | None],
    ) -> None:
        """Prove at its second time that a kind of turn needs less before it than `base`.

        `named` are the tools that the turn and what follows it name.
        """
        if kind in self._asked:
            return
        if kind not in self._known:
            if len(self._known) >= MOST_KINDS:
                self._known.clear()
                self._asked.clear()
            self._known[kind] = None
            return
        self._asked.add(kind)
        whole = place(base)
        for shorter in self._skeletons.shorter(base, named):
            if whole is not None and place(shorter) == whole:
                self._known[kind] = shorter, whole.notes
                return


def named_in(turn: Turn, new: Messages) -> tuple[str, ...]:
    """Return the tools that a turn and the messages after it name."""
    called = (call.name for call in turn.calls)
    return (*called, *(str(message["name"]) for message in new if "name" in message))
