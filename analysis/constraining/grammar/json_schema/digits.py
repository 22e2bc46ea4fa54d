"""Ranges of numbers as digit strings, in any alphabet of digits."""

from __future__ import annotations

from collections.abc import Sequence

from .gbnf_rules import literal

DECIMAL = "0123456789"
HEXADECIMAL = "0123456789abcdef"


def alternatives(options: Sequence[str]) -> str:
    """Join options to one expression that may stand anywhere; there must be one."""
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def between(low: str, high: str, digits: str = DECIMAL) -> str:
    """Return an expression for all digit strings from `low` to `high`, which are equally long."""
    common = 0
    while common < len(low) and low[common] == high[common]:
        common += 1
    pieces: list[str] = [literal(low[:common])] if common else []
    low, high = low[common:], high[common:]
    if low:
        pieces.append(alternatives(_options(low, high, digits)))
    return " ".join(pieces)


def _options(low: str, high: str, digits: str) -> list[str]:
    """Return the options where the first digits differ."""
    zeros, nines = digits[0] * (len(low) - 1), digits[-1] * (len(low) - 1)
    first, last = digits.index(low[0]), digits.index(high[0])
    options: list[str] = []
    if low[1:] != zeros:
        options.append(f"{literal(low[0])} {between(low[1:], nines, digits)}")
        first += 1
    above: list[str] = []
    if high[1:] != nines:
        above.append(f"{literal(high[0])} {between(zeros, high[1:], digits)}")
        last -= 1
    if first <= last:
        free = [digit_class(digits[first : last + 1]), *counted(len(low) - 1, digits)]
        options.append(" ".join(free))
    return options + above


def counted(count: int, digits: str = DECIMAL) -> list[str]:
    """Return an expression for so many digits, none where the count is 0."""
    each = digit_class(digits)
    return [] if count == 0 else [each] if count == 1 else [f"{each}{{{count}}}"]


def digit_class(digits: str) -> str:
    """Return a class of neighbouring digits."""
    if len(digits) == 1:
        return literal(digits)
    numbers = "".join(digit for digit in digits if digit.isdigit())
    letters = "".join(digit for digit in digits if not digit.isdigit())
    return f"[{_range(numbers)}{_range(letters)}]"


def _range(digits: str) -> str:
    inner = digits[1:-1]
    return f"{digits[0]}-{digits[-1]}" if inner else digits
