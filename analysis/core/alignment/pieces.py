"""A text in which sentinels were found: slots, and the literals around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

Label = TypeVar("Label")


@dataclass(frozen=True, slots=True)
class Pieces(Generic[Label]):
    """Slots in order, and the literals before, between and after them."""

    literals: tuple[str, ...]
    """One more than there are slots."""
    slots: tuple[Label, ...]

    def first(self, labels: Iterable[Label]) -> int | None:
        """Return the position of the first slot that has one of these labels."""
        wanted = set(labels)
        return next((at for at, slot in enumerate(self.slots) if slot in wanted), None)

    def last(self, labels: Iterable[Label]) -> int | None:
        """Return the position of the last slot that has one of these labels."""
        wanted = set(labels)
        found = [at for at, slot in enumerate(self.slots) if slot in wanted]
        return found[-1] if found else None


@lru_cache(maxsize=512)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")")


def find_slots(text: str, labels: Mapping[str, Label]) -> Pieces[Label]:
    """Find every sentinel in `text`; `labels` names the slot that each sentinel stands for."""
    if not labels:
        return Pieces((text,), ())
    parts = _pattern(tuple(labels)).split(text)
    return Pieces(tuple(parts[::2]), tuple(labels[word] for word in parts[1::2]))
