"""Integers within bounds, digit by digit."""

from __future__ import annotations

from .digits import alternatives, between, counted, digit_class
from .gbnf_rules import literal

ANY_INTEGER = '("0" | "-"? [1-9] [0-9]*)'


def integer_range(least: int | None, most: int | None) -> str | None:
    """Return an expression for the integers from `least` to `most`, as `json.dumps` writes them.

    None for a bound: there is none. None as the result: no integer lies between the two.
    """
    if least is None and most is None:
        return ANY_INTEGER
    if least is not None and most is not None and least > most:
        return None
    options: list[str] = []
    if least is None or least < 0:
        smallest = 1 if most is None or most >= 0 else -most
        magnitudes = natural_range(smallest, None if least is None else -least)
        options.append(f'"-" {magnitudes}')
    if most is None or most >= 0:
        options.append(natural_range(max(least or 0, 0), most))
    return alternatives(options)


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
        if (start, end) == (first, last):
            whole.append(length - 1)
        elif (start, end) == ("0", "9") and longest > 1:
            options.append('"0"')
            whole.append(0)
        elif start == "0":
            options.append(digit_class("0123456789"[: int(end) + 1]))
        else:
            options.append(literal(start) if start == end else between(start, end))
    if high is None:
        whole.append(longest)
    if whole:
        options.append(_led(whole[0], None if high is None else whole[-1]))
    return alternatives(options)


def _led(least: int, most: int | None) -> str:
    """Return a digit that is not zero and `least` to `most` of any kind after it."""
    if most == 0:
        return "[1-9]"
    if most is None:
        return " ".join(["[1-9]", *counted(least), "[0-9]*"])
    if least == most:
        return " ".join(["[1-9]", *counted(least)])
    return "[1-9] [0-9]?" if (least, most) == (0, 1) else f"[1-9] [0-9]{{{least},{most}}}"
