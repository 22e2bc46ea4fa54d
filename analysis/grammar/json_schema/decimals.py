"""Numbers within bounds, as `json.dumps` writes them: integers, decimals, with an exponent.

Python writes a float as its shortest text that reads back as the same float: with a fraction of
at least one digit and no other trailing zero from 1e-4 up to 1e16, else as a mantissa and an
exponent of at least two digits. More digits than a float holds can be written too, since no
grammar can tell; what might read back as zero or infinity, 1e308 and up, cannot.
Bounds are compared as decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor

from .digits import alternatives, digit_class
from .integers import integer_range, natural_range
from .rules import literal

FRACTION_DIGITS = 20
"""Digits in a fraction: 0.0001 and up, with the 17 digits that a float can need."""

MORE = f"[0-9]{{0,{FRACTION_DIGITS - 1}}} [1-9]"
"""Further digits of a fraction; the last one is not zero."""

PLAIN_END = 10**16
"""Floats from here on are written with an exponent; so are those below 1e-4."""

EXPONENTS = ((-323, -5), (16, 307))
"""Exponents that are written, and whose every mantissa reads back as neither zero nor infinity."""


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
        """Give the interval mirrored at zero."""
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Interval(low, high, self.high_open, self.low_open)

    def positive(self) -> Interval | None:
        """Give the part above zero; None where there is none."""
        if self.high is not None and self.high <= 0:
            return None
        if self.low is None or self.low < 0:
            return Interval(Decimal(0), self.high, low_open=True, high_open=self.high_open)
        return Interval(self.low, self.high, self.low_open or self.low == 0, self.high_open)


def number_range(interval: Interval) -> str | None:
    """Give an expression for the numbers inside; None where there are none."""
    if interval.is_empty:
        return None
    options: list[str] = []
    integers = integer_range(interval.least_integer, interval.greatest_integer)
    if integers is not None:
        options.append(integers)
    above, below = interval.positive(), interval.negated().positive()
    if above is not None and above == below:
        options += [f'"-"? {option}' for option in _floats(above)]
    else:
        options += _floats(above) if above is not None else []
        options += [f'"-" {option}' for option in _floats(below)] if below is not None else []
    if interval.holds(Decimal(0)):
        options.append('"-"? "0.0"')
    return alternatives(options) if options else None


def _floats(interval: Interval) -> list[str]:
    """Give expressions for floats in an interval above zero."""
    return [*_plain(interval), *_scientific(interval)]


def _plain(interval: Interval) -> list[str]:
    """Give decimals without an exponent: ``I.F``."""
    low = interval.low or Decimal(0)
    start, fraction_low = _split(low)
    if start >= PLAIN_END:
        return []
    end, fraction_high = PLAIN_END, ""
    if interval.high is not None and interval.high < PLAIN_END:
        end, fraction_high = _split(interval.high)
    lower = _Bound(fraction_low, interval.low_open)
    upper = _Bound(fraction_high, interval.high_open)
    if start == end:
        fractions = _fraction(lower, upper)
        return [f"{literal(f'{start}.')} {fractions}"] if fractions else []
    options: list[str] = []
    whole_from = start
    if fraction_low or interval.low_open:
        whole_from += 1
        if fractions := _fraction(lower, None):
            options.append(f"{literal(f'{start}.')} {fractions}")
    if whole_from < end:
        options.append(f'{natural_range(whole_from, end - 1)} "." {_fraction(None, None)}')
    if end < PLAIN_END and (fractions := _fraction(None, upper)):
        options.append(f"{literal(f'{end}.')} {fractions}")
    return options


@dataclass(frozen=True, slots=True)
class _Bound:
    """What is left of a bound's digits, and whether the bound itself is outside."""

    digits: str
    open: bool

    def behind(self, digit: int) -> _Bound | None:
        """Give the bound on the digits behind this one; None: it binds no more."""
        return _Bound(self.digits[1:], self.open) if digit == self.digit else None

    @property
    def digit(self) -> int:
        """The digit at this place."""
        return int(self.digits[0]) if self.digits else 0


def _split(value: Decimal) -> tuple[int, str]:
    """Cut a number into its integer part and the digits of its fraction."""
    whole, _, fraction = f"{value:f}".partition(".")
    return int(whole), fraction.rstrip("0")


def _fraction(low: _Bound | None, high: _Bound | None) -> str | None:
    """Give all of a fraction between bounds: a zero, or digits of which the last is none."""
    options: list[str] = []
    if (low is None or (not low.digits and not low.open)) and (
        high is None or high.digits or not high.open
    ):
        options.append('"0"')
    if digits := _digits(low, high):
        options.append(digits)
    return alternatives(options) if options else None


def _digits(low: _Bound | None, high: _Bound | None) -> str | None:
    """Give one or more digits between bounds, the last of them not zero."""
    if low is not None and not low.digits:
        low = None  # Any digits that do not end in a zero are above it.
    if high is not None and not high.digits:
        return None
    if low is None and high is None:
        return MORE
    first = 0 if low is None else low.digit
    last = 9 if high is None else high.digit
    options: list[str] = []
    free: list[int] = []
    for digit in range(first, last + 1):
        below = None if low is None else low.behind(digit)
        above = None if high is None else high.behind(digit)
        if below is None and above is None:
            free.append(digit)
        elif behind := _behind(digit, below, above):
            options.append(f"{literal(str(digit))} {behind}")
    if 0 in free:
        free.remove(0)
        options.append(f'"0" {MORE}')
    if free:
        options.append(f"{digit_class(''.join(map(str, free)))} ({MORE})?")
    return alternatives(options) if options else None


def _behind(digit: int, low: _Bound | None, high: _Bound | None) -> str | None:
    """Give what may follow a digit on a bound: nothing, or more digits."""
    more = _digits(low, high)
    if not _may_stop(low, high) or digit == 0:
        return more
    return f"({more})?" if more else '""'


def _may_stop(low: _Bound | None, high: _Bound | None) -> bool:
    """Whether a number may end here, where all digits behind would be zeros."""
    if low is not None and (low.digits or low.open):
        return False
    return high is None or bool(high.digits) or not high.open


def _scientific(interval: Interval) -> list[str]:
    """Give numbers with an exponent: ``D.Fe-05`` and below, ``D.Fe+16`` and above."""
    low = _Mantissa.of(interval.low, is_open=interval.low_open) if interval.low else None
    high = None
    if interval.high is not None:
        high = _Mantissa.of(interval.high, is_open=interval.high_open)
    return [
        option for first, last in EXPONENTS for option in _with_exponents(low, high, first, last)
    ]


@dataclass(frozen=True, slots=True)
class _Mantissa:
    """A bound as the digits of a mantissa, the first before the point, and an exponent."""

    bound: _Bound
    exponent: int

    @classmethod
    def of(cls, value: Decimal, *, is_open: bool) -> _Mantissa:
        digits = "".join(map(str, value.as_tuple().digits)).lstrip("0").rstrip("0")
        return cls(_Bound(digits, is_open), value.adjusted())


def _with_exponents(
    low: _Mantissa | None, high: _Mantissa | None, first: int, last: int
) -> list[str]:
    """Give the numbers between two bounds whose exponents lie from `first` to `last`."""
    options: list[str] = []
    for edge in sorted({bound.exponent for bound in (low, high) if bound is not None}):
        if first <= edge <= last:
            mantissa = _mantissa(
                low.bound if low is not None and edge == low.exponent else None,
                high.bound if high is not None and edge == high.exponent else None,
            )
            beyond = (low is not None and edge < low.exponent) or (
                high is not None and edge > high.exponent
            )
            if mantissa and not beyond:
                options.append(f"{mantissa} {literal(f'e{edge:+03d}')}")
    if low is not None:
        first = max(first, low.exponent + 1)
    if high is not None:
        last = min(last, high.exponent - 1)
    if first <= last:
        options.append(f'{_mantissa(None, None)} "e" {_exponents(first, last)}')
    return options


def _exponents(first: int, last: int) -> str:
    """Give exponents of one sign, from `first` to `last`, with two digits at least."""
    if first > 0:
        return f'"+" {natural_range(first, last)}'
    options: list[str] = []
    small, large = -last, -first
    if digits := "".join(map(str, range(small, min(large, 9) + 1))):
        options.append(f'"0" {digit_class(digits)}')
    if len(str(large)) > 1:
        options.append(natural_range(max(small, 10), large))
    return f'"-" {alternatives(options)}'


def _mantissa(low: _Bound | None, high: _Bound | None) -> str | None:
    """Give ``D`` or ``D.F`` between bounds; D is not zero."""
    options: list[str] = []
    free: list[int] = []
    for digit in range(1 if low is None else low.digit, (9 if high is None else high.digit) + 1):
        below = None if low is None else low.behind(digit)
        above = None if high is None else high.behind(digit)
        if below is None and above is None:
            free.append(digit)
            continue
        more = _digits(below, above)
        behind = [f'"." {more}'] if more else []
        if _may_stop(below, above):
            behind.append('""')
        if behind:
            options.append(f"{literal(str(digit))} {alternatives(behind)}")
    if free:
        digits = digit_class("".join(map(str, free)))
        options.append(f'{digits} ("." {MORE})?')
    return alternatives(options) if options else None
