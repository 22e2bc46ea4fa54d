"""What a backend has done so far: compilations, hits, masks, forced tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from .constraint import ConstraintKind

__all__ = ["GrammarStatistics", "StatisticsCounter"]


@dataclass(frozen=True, slots=True)
class GrammarStatistics:
    """The figures at one moment."""

    hits: int = 0
    """Requests whose grammar was compiled, or was being compiled, already."""
    misses: int = 0
    """Requests that had to start a compilation."""
    failures: int = 0
    """Compilations that ended in an error."""
    compile_seconds: float = 0.0
    """Time spent compiling, failures included."""
    masks: int = 0
    """Masks that were filled by a grammar."""
    mask_seconds: float = 0.0
    """Time spent filling them."""
    accepted: int = 0
    """Tokens that were accepted by a grammar."""
    forced: int = 0
    """Tokens that ``forced_tokens`` gave, with no model asked."""
    dispatched: Mapping[ConstraintKind, int] = field(default_factory=dict[ConstraintKind, int])
    """Compilations by the kind of the constraint."""


class StatisticsCounter:
    """Counts for all requests of a backend, whatever thread they run in."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._compile_seconds = 0.0
        self._mask_seconds = 0.0
        self._dispatched: Counter[ConstraintKind] = Counter()

    def requested(self, *, hit: bool) -> None:
        """Count a request."""
        with self._lock:
            self._counts["hits" if hit else "misses"] += 1

    def compiled(self, kind: ConstraintKind, seconds: float, *, failed: bool) -> None:
        """Count a compilation."""
        with self._lock:
            self._dispatched[kind] += 1
            self._compile_seconds += seconds
            self._counts["failures"] += failed

    def used(self, *, masks: int, mask_seconds: float, accepted: int, forced: int) -> None:
        """Count what one grammar object did."""
        with self._lock:
            self._mask_seconds += mask_seconds
            self._counts.update(masks=masks, accepted=accepted, forced=forced)

    def now(self) -> GrammarStatistics:
        """Return the figures of this moment."""
        with self._lock:
            return GrammarStatistics(
                hits=self._counts["hits"],
                misses=self._counts["misses"],
                failures=self._counts["failures"],
                compile_seconds=self._compile_seconds,
                masks=self._counts["masks"],
                mask_seconds=self._mask_seconds,
                accepted=self._counts["accepted"],
                forced=self._counts["forced"],
                dispatched=dict(self._dispatched),
            )
