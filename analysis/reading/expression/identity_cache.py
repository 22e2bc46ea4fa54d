"""What was made of a format is cached for the requests that follow: engines ask again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class IdentityCache(Generic[Made]):
    """Keeps the latest of what was made of objects that do not change; threads may share it.

    Objects are told apart by their identity, since formats hold mappings and cannot be hashed. Each
    is held as long as what was made of it, so that no other takes its place in memory.
    """

    def __init__(self, most: int) -> None:
        """Keep so many."""
        self._most = most
        self._known: OrderedDict[Hashable, tuple[Made, tuple[object, ...]]] = OrderedDict()
        self._lock = Lock()

    def of(self, owners: tuple[object, ...], key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made of these objects under this key; `make` makes it where it is new.

        Two threads may make the same thing at once: then the first one is kept.
        """
        case = (tuple(map(id, owners)), key)
        with self._lock:
            known = self._known.get(case)
            if known is not None:
                self._known.move_to_end(case)
                return known[0]
        made = make()
        with self._lock:
            made, _ = self._known.setdefault(case, (made, owners))
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return made
