r"""Write the numbers of a schema as GBNF: bounds, and multiples if the bounds leave few.

`number_expression` writes the numbers of an `Interval`: integers digit by digit (`integer_range`),
floats as `json.dumps` writes them (`number_range`), fractions between bounds by `Fractions`.

    >>> integer_range(17, 300)
    '(("1" [7-9] | [2-9] [0-9]) | ([12] [0-9] [0-9] | "300"))'
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from msgspec import Struct

from autoparser.analysis.core.schema_keywords import Schema

from .gbnf_rules import (
    GbnfRules,
    counted_digits,
    digit_class,
    digits_between,
    gbnf_literal,
    join_alternatives,
)
from .schema_numbers import (
    Interval,
    multiples_within,
    number_interval,
    written_multiples,
    written_unit,
)
from .schema_survey import unwritable_keyword

# The digits after a decimal point, between bounds.


FRACTION_DIGITS = 20
"""Digits in a fraction: 0.0001 and up, with the 17 digits that a float can need."""

MORE = f"[0-9]{{0,{FRACTION_DIGITS - 1}}} [1-9]"
"""Digits of a fraction, the last one not zero, as the body of a rule."""


class Bound(Struct, frozen=True):
    """The rest of a bound's digits, and whether the bound itself is outside."""

    digits: str
    """The digits that are not written yet, e.g. "75" of 2.75 after "2."."""
    open: bool
    """Whether the bound itself is excluded, e.g. True for exclusiveMinimum."""

    def behind(self, digit: int) -> Bound | None:
        """Return the bound on the digits after this one, or None if it no longer binds."""
        return Bound(self.digits[1:], self.open) if digit == self.digit else None

    @property
    def digit(self) -> int:
        """The digit at this place."""
        return int(self.digits[0]) if self.digits else 0


def _by_digit(
    least: int, low: Bound | None, high: Bound | None
) -> tuple[list[int], list[tuple[int, Bound | None, Bound | None]]]:
    """Return the next digits between bounds: the free ones, and others with what still binds."""
    free: list[int] = []
    bound: list[tuple[int, Bound | None, Bound | None]] = []
    for digit in range(least if low is None else low.digit, (high.digit if high else 9) + 1):
        below = None if low is None else low.behind(digit)
        above = None if high is None else high.behind(digit)
        if below is None and above is None:
            free.append(digit)
        else:
            bound.append((digit, below, above))
    return free, bound


class Fractions(Struct, frozen=True):
    """Writes digits, so many at once that a rule for any digits is worth having."""

    more: str
    """The rule of `MORE`, e.g. "digits"."""

    def fraction(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return a whole fraction between bounds: a zero, or digits whose last is not zero."""
        options: list[str] = []
        # JSON's writers give every float a fraction, so that a whole one ends in `.0`.
        if (low is None or (not low.digits and not low.open)) and (
            high is None or high.digits or not high.open
        ):
            options.append('"0"')
        if digits := self.digits(low, high):
            options.append(digits)
        return join_alternatives(options) if options else None

    def digits(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return one or more digits between bounds, the last of them not zero."""
        if low is not None and not low.digits:
            low = None  # any digits that do not end with a zero are larger
        # Only zeros are left below it, and the last digit is not a zero.
        if high is not None and not high.digits:
            return None
        if low is None and high is None:
            return self.more
        free, bound = _by_digit(0, low, high)
        options = [
            f"{gbnf_literal(str(digit))} {behind}"
            for digit, below, above in bound
            if (behind := self._behind(digit, below, above))
        ]
        # A zero alone would be a trailing one, so more digits have to follow.
        if 0 in free:
            free.remove(0)
            options.append(f'"0" {self.more}')
        if free:
            options.append(f"{digit_class(''.join(map(str, free)))} ({self.more})?")
        return join_alternatives(options) if options else None

    def _behind(self, digit: int, low: Bound | None, high: Bound | None) -> str | None:
        """Return the text after a digit on a bound: nothing, or more digits."""
        more = self.digits(low, high)
        if not self._may_stop(low, high) or digit == 0:
            return more
        return f"({more})?" if more else '""'

    @staticmethod
    def _may_stop(low: Bound | None, high: Bound | None) -> bool:
        """Return whether a number may end here, where all digits after would be zeros."""
        if low is not None and (low.digits or low.open):
            return False
        return high is None or bool(high.digits) or not high.open

    def mantissa(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return ``D`` or ``D.F`` between bounds; D is not zero."""
        options: list[str] = []
        free, bound = _by_digit(1, low, high)
        for digit, below, above in bound:
            more = self.digits(below, above)
            behind = [f'"." {more}'] if more else []
            if self._may_stop(below, above):
                behind.append('""')
            if behind:
                options.append(f"{gbnf_literal(str(digit))} {join_alternatives(behind)}")
        if free:
            digits = digit_class("".join(map(str, free)))
            options.append(f'{digits} ("." {self.more})?')
        return join_alternatives(options) if options else None


# Integers within bounds, digit by digit.


ANY_INTEGER = '("0" | "-"? [1-9] [0-9]*)'


def integer_range(least: int | None, most: int | None) -> str | None:
    """Return an expression for the integers from `least` to `most`, as `json.dumps` writes them.

    A bound of None means no bound. Return None if no integer lies between the two.
    """
    if least is None and most is None:
        return ANY_INTEGER
    if least is not None and most is not None and least > most:
        return None
    options: list[str] = []
    if least is None or least < 0:
        # `-0` is not how JSON's writers write a zero.
        smallest = 1 if most is None or most >= 0 else -most
        magnitudes = natural_range(smallest, None if least is None else -least)
        options.append(f'"-" {magnitudes}')
    if most is None or most >= 0:
        options.append(natural_range(max(least or 0, 0), most))
    return join_alternatives(options)


def natural_range(least: int, most: int | None) -> str:
    """Return an expression for the numbers from `least`, not below 0, to `most`."""
    low = str(least)
    high = None if most is None else str(most)
    options: list[str] = []
    whole: list[int] = []
    longest = len(low) if high is None else len(high)
    for length in range(len(low), longest + 1):
        first, last = "1" + "0" * (length - 1), "9" * length
        start = low if length == len(low) else first
        end = high if high is not None and length == len(high) else last
        # Lengths whose numbers are all allowed are written as one repetition below.
        if (start, end) == (first, last):
            whole.append(length - 1)
        elif (start, end) == ("0", "9") and longest > 1:
            options.append('"0"')
            whole.append(0)
        elif start == "0":
            options.append(digit_class("0123456789"[: int(end) + 1]))
        else:
            options.append(gbnf_literal(start) if start == end else digits_between(start, end))
    if high is None:
        whole.append(longest)
    if whole:
        options.append(_nonzero_digits(whole[0], None if high is None else whole[-1]))
    return join_alternatives(options)


def _nonzero_digits(least: int, most: int | None) -> str:
    """Return a nonzero digit followed by `least` to `most` digits of any kind."""
    if most == 0:
        return "[1-9]"
    if most is None:
        return " ".join(["[1-9]", *counted_digits(least), "[0-9]*"])
    if least == most:
        return " ".join(["[1-9]", *counted_digits(least)])
    return "[1-9] [0-9]?" if (least, most) == (0, 1) else f"[1-9] [0-9]{{{least},{most}}}"


# Numbers within bounds, as `json.dumps` writes them: integers, decimals, with an exponent.
#
# Python writes a float as its shortest text that reads back as the same float: with a fraction of
# at least one digit and no other trailing zero from 1e-4 up to 1e16, else as a mantissa and an
# exponent of at least two digits. More digits than a float holds are accepted too, since no
# grammar can tell; numbers that might read back as zero or infinity, 1e308 and up, are not. Bounds
# are compared as decimals.


PLAIN_END = 10**16
"""Floats from here on are written with an exponent; so are those below 1e-4."""

EXPONENTS = ((-323, -5), (16, 307))
"""Exponents that are written: with any mantissa they read back as neither zero nor infinity."""


def number_range(interval: Interval, rules: GbnfRules) -> str | None:
    """Return an expression for the numbers inside an interval, or None if it holds no number."""
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
    # Bounds that are the same on both sides are written once, with an optional sign.
    if above is not None and above == below:
        options += [f'"-"? {option}' for option in _floats(above, fractions)]
    else:
        options += _floats(above, fractions) if above is not None else []
        options += (
            [f'"-" {option}' for option in _floats(below, fractions)] if below is not None else []
        )
    if interval.holds(Decimal(0)):
        options.append('"-"? "0.0"')
    return join_alternatives(options) if options else None


def _floats(interval: Interval, fractions: Fractions) -> list[str]:
    """Return expressions for floats in an interval above zero."""
    return [*_plain(interval, fractions), *_scientific(interval, fractions)]


def _plain(interval: Interval, fractions: Fractions) -> list[str]:
    """Return decimals without an exponent: ``I.F``."""
    low = interval.low or Decimal(0)
    start, fraction_low = _split_number(low)
    if start >= PLAIN_END:
        return []
    end, fraction_high = PLAIN_END, ""
    if interval.high is not None and interval.high < PLAIN_END:
        end, fraction_high = _split_number(interval.high)
    lower = Bound(fraction_low, interval.low_open)
    upper = Bound(fraction_high, interval.high_open)
    if start == end:
        digits = fractions.fraction(lower, upper)
        return [f"{gbnf_literal(f'{start}.')} {digits}"] if digits else []
    options: list[str] = []
    whole_from = start
    if fraction_low or interval.low_open:
        whole_from += 1
        if digits := fractions.fraction(lower, None):
            options.append(f"{gbnf_literal(f'{start}.')} {digits}")
    if whole_from < end:
        options.append(f'{natural_range(whole_from, end - 1)} "." {fractions.fraction(None, None)}')
    if end < PLAIN_END and (digits := fractions.fraction(None, upper)):
        options.append(f"{gbnf_literal(f'{end}.')} {digits}")
    return options


def _split_number(value: Decimal) -> tuple[int, str]:
    """Split a number into its integer part and the digits of its fraction."""
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


class _Mantissa(Struct, frozen=True):
    """A bound as the digits of a mantissa, the first before the point, and an exponent."""

    bound: Bound
    """The digits, e.g. "1725" for 17.25."""
    exponent: int
    """The power of ten of the first digit, e.g. 1 for 17.25 and -1 for 0.5."""

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
                options.append(f"{mantissa} {gbnf_literal(f'e{edge:+03d}')}")
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
    return f'"-" {join_alternatives(options)}'


MOST_MULTIPLES = 1000
"""Maximum number of multiples that are written one by one."""


def number_expression(schema: Schema, pointer: str, rules: GbnfRules, *, whole: bool) -> str | None:
    """Return an expression for a schema's numbers, or None if it allows no number.

    With `whole`, only integers, written without a fraction, so not as ``1.0``. Raises
    SchemaError for multiples that are too many to be written one by one.
    """
    interval, unit = number_interval(schema), written_unit(schema, whole=whole)
    if unit is None or unit == 1:
        if whole or unit is not None:
            return integer_range(interval.least_integer, interval.greatest_integer)
        return number_range(interval, rules)
    factors = multiples_within(unit, interval)
    if factors is None:
        raise unwritable_keyword("multipleOf", pointer, "without bounds there are infinitely many")
    if len(factors) > MOST_MULTIPLES:
        raise unwritable_keyword(
            "multipleOf",
            pointer,
            f"the bounds allow {len(factors)} multiples; at most {MOST_MULTIPLES} can be listed",
        )
    options = [gbnf_literal(text) for text in written_multiples(unit, factors, interval)]
    return join_alternatives(options) if options else None
