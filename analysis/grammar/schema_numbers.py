"""Read the bounds of a schema's numbers, and their multiples.

    {"minimum": 1, "exclusiveMaximum": 10, "multipleOf": 3} -> Interval(1, 10, high_open=True), 3

`has_number` decides whether any number meets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from msgspec import Struct

from autoparser.analysis.core.schema_keywords import Schema, is_number


class Interval(Struct, frozen=True):
    """An interval; None for no bound."""

    low: Decimal | None = None
    """The lower bound, e.g. 1 for {"minimum": 1}, or None."""
    high: Decimal | None = None
    """The upper bound, e.g. 10 for {"exclusiveMaximum": 10}, or None."""
    low_open: bool = False
    """Whether the lower bound itself is outside, e.g. True with `exclusiveMinimum`."""
    high_open: bool = False
    """Whether the upper bound itself is outside, e.g. True with `exclusiveMaximum`."""

    @property
    def least_integer(self) -> int | None:
        """The smallest integer inside, or None without a bound."""
        if self.low is None:
            return None
        # Above 2 it is 3, as above 2.5; from 2 on it is 2.
        return floor(self.low) + 1 if self.low_open else ceil(self.low)

    @property
    def greatest_integer(self) -> int | None:
        """The largest integer inside, or None without a bound."""
        if self.high is None:
            return None
        return ceil(self.high) - 1 if self.high_open else floor(self.high)

    @property
    def is_empty(self) -> bool:
        """Whether no number lies between the bounds."""
        if self.low is None or self.high is None or self.low < self.high:
            return False
        return self.low > self.high or self.low_open or self.high_open

    def holds(self, value: Decimal) -> bool:
        """Return whether a number lies inside."""
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
        """Return the part above zero, or None if all of it is below."""
        if self.high is not None and self.high <= 0:
            return None
        if self.low is None or self.low < 0:
            return Interval(Decimal(0), self.high, low_open=True, high_open=self.high_open)
        # Zero itself does not belong to it.
        return Interval(self.low, self.high, self.low_open or self.low == 0, self.high_open)


def number_interval(schema: Schema) -> Interval:
    """Return the bounds of a schema's numbers."""
    bounds: dict[str, Decimal] = {}
    for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        value = schema.get(keyword)
        if is_number(value):
            # By its text, since the float 0.1 itself is a longer number.
            bounds[keyword] = Decimal(repr(value))
    low, above = bounds.get("minimum"), bounds.get("exclusiveMinimum")
    high, under = bounds.get("maximum"), bounds.get("exclusiveMaximum")
    # Of two bounds the closer one counts, and of equal ones the exclusive one.
    low_open = above is not None and (low is None or above >= low)
    high_open = under is not None and (high is None or under <= high)
    return Interval(above if low_open else low, under if high_open else high, low_open, high_open)


def allowed_multiple(schema: Schema) -> Decimal | None:
    """Return the number whose multiples a schema allows, or None for any number."""
    step = schema.get("multipleOf")
    return Decimal(repr(step)) if is_number(step) else None


def written_unit(schema: Schema, *, whole: bool) -> Fraction | None:
    """Return the number whose multiples are written, or None for any number.

    With `whole`, of integers alone: the whole multiples of 1.5 are those of 3.
    """
    step = allowed_multiple(schema)
    if step is None:
        return None
    numerator, denominator = step.as_integer_ratio()
    return Fraction(numerator, 1 if whole else denominator)


def multiples_within(unit: Fraction, interval: Interval) -> range | None:
    """Return the factors of a unit whose products lie between the bounds, or None without both."""
    if interval.low is None or interval.high is None:
        return None
    first, last = ceil(Fraction(interval.low) / unit), floor(Fraction(interval.high) / unit)
    return range(first, last + 1)


def written_multiples(unit: Fraction, factors: range, interval: Interval) -> Iterator[str]:
    """Yield the multiples of a unit inside an interval, as `json.dumps` writes them."""
    for factor in factors:
        value = unit * factor
        written = str(int(value)) if value.denominator == 1 else repr(float(value))
        # The bound itself may be excluded, and a float may be rounded beyond it.
        if interval.holds(Decimal(written)):
            yield written


def has_number(schema: Schema, *, whole: bool) -> bool:
    """Return whether a number meets a schema; with `whole`, whether an integer does."""
    interval, unit = number_interval(schema), written_unit(schema, whole=whole)
    # The multiples of 1 are all integers, for which the bounds below are enough.
    if unit is not None and unit != 1:
        factors = multiples_within(unit, interval)
        return factors is None or any(True for _ in written_multiples(unit, factors, interval))
    if not whole and unit is None:
        return not interval.is_empty
    least, greatest = interval.least_integer, interval.greatest_integer
    return least is None or greatest is None or least <= greatest
