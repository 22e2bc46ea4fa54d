"""The digits after a decimal point, between bounds."""

from __future__ import annotations

from dataclasses import dataclass

from .digits import alternatives, digit_class
from .gbnf_rules import literal

FRACTION_DIGITS = 20
"""Digits in a fraction: 0.0001 and up, with the 17 digits that a float can need."""

MORE = f"[0-9]{{0,{FRACTION_DIGITS - 1}}} [1-9]"
"""Digits of a fraction, the last one not zero, as the body of a rule."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What is left of a bound's digits, and whether the bound itself is outside."""

    digits: str
    open: bool

    def behind(self, digit: int) -> Bound | None:
        """Return the bound on the digits after this one; None: it binds no more."""
        return Bound(self.digits[1:], self.open) if digit == self.digit else None

    @property
    def digit(self) -> int:
        """The digit at this place."""
        return int(self.digits[0]) if self.digits else 0


@dataclass(frozen=True, slots=True)
class Fractions:
    """Writes digits, so many at once that a rule for any digits is worth having."""

    more: str
    """The rule of `MORE`."""

    def fraction(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return all of a fraction between bounds: a zero, or digits of which the last is none."""
        options: list[str] = []
        if (low is None or (not low.digits and not low.open)) and (
            high is None or high.digits or not high.open
        ):
            options.append('"0"')
        if digits := self.digits(low, high):
            options.append(digits)
        return alternatives(options) if options else None

    def digits(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return one or more digits between bounds, the last of them not zero."""
        if low is not None and not low.digits:
            low = None  # Any digits that do not end in a zero are above it.
        if high is not None and not high.digits:
            return None
        if low is None and high is None:
            return self.more
        first = 0 if low is None else low.digit
        last = 9 if high is None else high.digit
        options: list[str] = []
        free: list[int] = []
        for digit in range(first, last + 1):
            below = None if low is None else low.behind(digit)
            above = None if high is None else high.behind(digit)
            if below is None and above is None:
                free.append(digit)
            elif behind := self._behind(digit, below, above):
                options.append(f"{literal(str(digit))} {behind}")
        if 0 in free:
            free.remove(0)
            options.append(f'"0" {self.more}')
        if free:
            options.append(f"{digit_class(''.join(map(str, free)))} ({self.more})?")
        return alternatives(options) if options else None

    def _behind(self, digit: int, low: Bound | None, high: Bound | None) -> str | None:
        """Return what may follow a digit on a bound: nothing, or more digits."""
        more = self.digits(low, high)
        if not self._may_stop(low, high) or digit == 0:
            return more
        return f"({more})?" if more else '""'

    @staticmethod
    def _may_stop(low: Bound | None, high: Bound | None) -> bool:
        """Whether a number may end here, where all digits after would be zeros."""
        if low is not None and (low.digits or low.open):
            return False
        return high is None or bool(high.digits) or not high.open

    def mantissa(self, low: Bound | None, high: Bound | None) -> str | None:
        """Return ``D`` or ``D.F`` between bounds; D is not zero."""
        options: list[str] = []
        free: list[int] = []
        first = 1 if low is None else low.digit
        last = 9 if high is None else high.digit
        for digit in range(first, last + 1):
            below = None if low is None else low.behind(digit)
            above = None if high is None else high.behind(digit)
            if below is None and above is None:
                free.append(digit)
                continue
            more = self.digits(below, above)
            behind = [f'"." {more}'] if more else []
            if self._may_stop(below, above):
                behind.append('""')
            if behind:
                options.append(f"{literal(str(digit))} {alternatives(behind)}")
        if free:
            digits = digit_class("".join(map(str, free)))
            options.append(f'{digits} ("." {self.more})?')
        return alternatives(options) if options else None
