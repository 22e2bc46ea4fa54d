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
from functools import lru_cache

from .digits import alternatives, digit_class
from .fractions import MORE, Bound, Fractions
from .gbnf_rules import GbnfRules, literal
from .integers import integer_range, natural_range
from .interval import Interval

PLAIN_END = 10**16
"""Floats from here on are written with an exponent; so are those below 1e-4."""

EXPONENTS = ((-323, -5), (16, 307))
"""Exponents that are written, and whose every mantissa reads back as neither zero nor infinity."""


def number_range(interval: Interval, rules: GbnfRules) -> str | None:
    """Return an expression for the numbers inside; None where there are none."""
    return _range(interval, Fractions(rules.add("digits", MORE)))


@lru_cache(maxsize=256)
def _range(interval: Interval, fractions: Fractions) -> str | None:
    if interval.is_empty:
        return None
    options: list[str] = []
    integers = integer_range(interval.least_integer, interval.greatest_integer)
    if integers is not None:
        options.append(integers)
    above, below = interval.positive(), interval.negated().positive()
    if above is not None and above == below:
        options += [f'"-"? {option}' for option in _floats(above, fractions)]
    else:
        options += _floats(above, fractions) if above is not None else []
        options += (
            [f'"-" {option}' for option in _floats(below, fractions)] if below is not None else []
        )
    if interval.holds(Decimal(0)):
        options.append('"-"? "0.0"')
    return alternatives(options) if options else None


def _floats(interval: Interval, fractions: Fractions) -> list[str]:
    """Return expressions for floats in an interval above zero."""
    return [*_plain(interval, fractions), *_scientific(interval, fractions)]


def _plain(interval: Interval, fractions: Fractions) -> list[str]:
    """Return decimals without an exponent: ``I.F``."""
    low = interval.low or Decimal(0)
    start, fraction_low = _split(low)
    if start >= PLAIN_END:
        return []
    end, fraction_high = PLAIN_END, ""
    if interval.high is not None and interval.high < PLAIN_END:
        end, fraction_high = _split(interval.high)
    lower = Bound(fraction_low, interval.low_open)
    upper = Bound(fraction_high, interval.high_open)
    if start == end:
        digits = fractions.fraction(lower, upper)
        return [f"{literal(f'{start}.')} {digits}"] if digits else []
    options: list[str] = []
    whole_from = start
    if fraction_low or interval.low_open:
        whole_from += 1
        if digits := fractions.fraction(lower, None):
            options.append(f"{literal(f'{start}.')} {digits}")
    if whole_from < end:
        options.append(f'{natural_range(whole_from, end - 1)} "." {fractions.fraction(None, None)}')
    if end < PLAIN_END and (digits := fractions.fraction(None, upper)):
        options.append(f"{literal(f'{end}.')} {digits}")
    return options


def _split(value: Decimal) -> tuple[int, str]:
    """Cut a number into its integer part and the digits of its fraction."""
    whole, _, fraction = f"{value:f}".partition(".")
    return int(whole), fraction.rstrip("0")


def _scientific(interval: Interval, fractions: Fractions) -> list[str]:
    """Return numbers with an exponent: ``D.Fe-05`` and below, ``D.Fe+16`` and above."""
    low = _Mantissa.of(interval.low, is_open=interval.low_open) if interval.low else None
    high = None
    if interval.high is not None:
        high = _Mantissa.of(interval.high, is_open=interval.high_open)
    return [
        option
        for first, last in EXPONENTS
        for option in _with_exponents(low, high, first, last, fractions)
    ]


@dataclass(frozen=True, slots=True)
class _Mantissa:
    """A bound as the digits of a mantissa, the first before the point, and an exponent."""

    bound: Bound
    exponent: int

    @classmethod
    def of(cls, value: Decimal, *, is_open: bool) -> _Mantissa:
        digits = "".join(map(str, value.as_tuple().digits)).lstrip("0").rstrip("0")
        return cls(Bound(digits, is_open), value.adjusted())


def _with_exponents(
    low: _Mantissa | None, high: _Mantissa | None, first: int, last: int, fractions: Fractions
) -> list[str]:
    """Return the numbers between two bounds whose exponents lie from `first` to `last`."""
    options: list[str] = []
    for edge in sorted({bound.exponent for bound in (low, high) if bound is not None}):
        if first <= edge <= last:
            mantissa = fractions.mantissa(
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
        options.append(f'{fractions.mantissa(None, None)} "e" {_exponents(first, last)}')
    return options


def _exponents(first: int, last: int) -> str:
    """Return exponents of one sign, from `first` to `last`, with two digits at least."""
    if first > 0:
        return f'"+" {natural_range(first, last)}'
    options: list[str] = []
    small, large = -last, -first
    if digits := "".join(map(str, range(small, min(large, 9) + 1))):
        options.append(f'"0" {digit_class(digits)}')
    if len(str(large)) > 1:
        options.append(natural_range(max(small, 10), large))
    return f'"-" {alternatives(options)}'
