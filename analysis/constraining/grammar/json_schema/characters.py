r"""How one character of a string is written: as JSON, as JSON in ASCII, as itself.

`json.dumps` writes each character in exactly one way, and so does a grammar here: the short
escape where JSON has one, ``\u`` with four small hexadecimal digits for all else that cannot
stand as itself, two of them for what lies beyond U+FFFF.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from .code_points import LAST, CodePoints
from .digits import HEXADECIMAL, between
from .gbnf_rules import character_class, literal


class Quoting(StrEnum):
    """What stands for a character inside a string."""

    JSON = "as json.dumps(…, ensure_ascii=False)"
    JSON_ASCII = "as json.dumps(…)"
    BARE = "as itself"

    def text(self, text: str) -> str:
        """Write a text, without the quotes around it."""
        if self is Quoting.BARE:
            return text
        return json.dumps(text, ensure_ascii=self is Quoting.JSON_ASCII)[1:-1]

    @property
    def quote(self) -> str:
        """What stands before and after a string."""
        return "" if self is Quoting.BARE else '"'

    def options(self, points: CodePoints) -> tuple[Sequence[str], Sequence[str]]:
        """Return expressions that together are these characters: as themselves, and escaped."""
        return _options(self, points)


@lru_cache(maxsize=1024)
def _options(quoting: Quoting, points: CodePoints) -> tuple[Sequence[str], Sequence[str]]:
    plain = points
    if quoting is not Quoting.BARE:
        plain &= _PRINTABLE_ASCII if quoting is Quoting.JSON_ASCII else _PLAIN
    return (character_class(plain),) if plain else (), tuple(_escapes(points - plain))


def _escapes(points: CodePoints) -> Iterator[str]:
    if short := "".join(sign for char, sign in _SHORT.items() if points & CodePoints.of(char)):
        yield f"{literal(chr(92))} {character_class(CodePoints.among(short))}"
    rest = points - CodePoints.among("".join(_SHORT))
    for first, last in (rest & _PLANE_0).ranges:
        yield _hexadecimal(first, last)
    for first, last in (rest - _PLANE_0).ranges:
        yield from _pairs(first, last)


_PLAIN = CodePoints.of((0x20, LAST)) - CodePoints.among('"\\')
_PRINTABLE_ASCII = CodePoints.of((0x20, 0x7E)) - CodePoints.among('"\\')
_PLANE_0 = CodePoints.of((0, 0xFFFF))
_LOW_BITS = 0x3FF
"""What of a code point the second half of a surrogate pair holds."""

_SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _hexadecimal(first: int, last: int) -> str:
    return f"{literal(chr(92) + 'u')} {between(f'{first:04x}', f'{last:04x}', HEXADECIMAL)}"


def _pairs(first: int, last: int) -> Iterator[str]:
    """Return surrogate pairs for characters beyond U+FFFF: equal first halves, then the rest."""
    while first <= last:
        high = (first - 0x10000) >> 10
        if first & _LOW_BITS == 0 and last - first >= _LOW_BITS:
            highest = ((last + 1 - 0x10000) >> 10) - 1
            end = 0x10000 + ((highest + 1) << 10) - 1
        else:
            highest, end = high, min(last, first | _LOW_BITS)
        yield (
            f"{_hexadecimal(0xD800 + high, 0xD800 + highest)} "
            f"{_hexadecimal(0xDC00 + (first & _LOW_BITS), 0xDC00 + (end & _LOW_BITS))}"
        )
        first = end + 1
