"""Where a number may lie."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a number may lie; None: no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def least_integer(self) -> int | None:
        """The smallest integer inside; None where there is no bound."""
        if self.low is None:
            return None
        return floor(self.low) + 1 if self.low_open else ceil(self.low)

    @property
    def greatest_integer(self) -> int | None:
        """The largest integer inside; None where there is no bound."""
        if self.high is None:
            return None
        return ceil(self.high) - 1 if self.high_open else floor(self.high)

    @property
    def is_empty(self) -> bool:
        """Whether the bounds leave nothing between them."""
        if self.low is None or self.high is None or self.low < self.high:
            return False
        return self.low > self.high or self.low_open or self.high_open

    def holds(self, value: Decimal) -> bool:
        """Whether a number lies inside."""
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return self.high is None or not (
            value > self.high or (self.high_open and value == self.high)
        )

    def negated(self) -> Interval:
        """Return the interval mirrored at zero."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Interval(low, high, self.high_open, self.low_open)

    def positive(self) -> Interval | None:
        """Return the part above zero; None where there is none."""
        if self.high is not None and self.high <= 0:
            return None
        if self.low is None or self.low < 0:
            return Interval(Decimal(0), self.high, low_open=True, high_open=self.high_open)
        return Interval(self.low, self.high, self.low_open or self.low == 0, self.high_open)
