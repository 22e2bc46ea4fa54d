"""Alternatives in Lark, each a text and what follows it: what several share is written once.

llguidance reads a grammar symbol by symbol, and most of what loading a small one takes is that.

    >>> grouped_ways([("TEXT", ""), ("TEXT", "END"), ("LINE", "call"), ('""', "END"), ('""', "")])
    ['TEXT? END?', 'LINE call']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTHING_WRITTEN = '""'


def grouped_ways(ways: Iterable[tuple[str, str]]) -> list[str]:
    """Return alternatives that allow the same, those of one text or of one rest as one."""
    firsts: dict[str, dict[str, None]] = {}
    for first, rest in ways:
        firsts.setdefault(rest or NOTHING_WRITTEN, {})[first or NOTHING_WRITTEN] = None
    rests: dict[frozenset[str], list[str]] = {}
    for rest, alike in firsts.items():
        rests.setdefault(frozenset(alike), []).append(rest)
    return [
        in_row(one_of_ways(list(firsts[alike[0]])), one_of_ways(alike)) for alike in rests.values()
    ]


def one_of_ways(ways: Sequence[str]) -> str:
    """Write one of several alternatives as a part of a row."""
    written = [way for way in ways if way != NOTHING_WRITTEN]
    if not written:
        return NOTHING_WRITTEN
    text = " | ".join(written)
    if len(written) > 1 or (len(ways) > 1 and not _is_symbol(text)):
        text = f"({text})"
    return f"{text}?" if len(written) < len(ways) else text


def in_row(*parts: str) -> str:
    """Write parts one after the other."""
    return " ".join(part for part in parts if part and part != NOTHING_WRITTEN) or NOTHING_WRITTEN


def _is_symbol(text: str) -> bool:
    """Whether a text is one symbol: a name, a token, or a literal without a blank."""
    return " " not in text and (text[-1].isalnum() or text[-1] in '">')
