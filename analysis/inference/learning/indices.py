"""Numbers that count calls: the same text but for a number that grows by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

INDEX_MARK = "\ue000"
"""Stands in a learnt text for the number of the call."""

_NUMBERS = re.compile(r"(\d+)")


def counted(texts: Sequence[str]) -> tuple[str, int] | None:
    """Give the text that `texts` share with marks for the numbers that count, and the first number.

    None where the texts differ in anything else. A text without numbers that count comes back
    as it is, with -1.
    """
    rows = [_NUMBERS.split(text) for text in texts]
    first = rows[0]
    if any(len(row) != len(first) for row in rows):
        return None
    base = -1
    pieces: list[str] = []
    for at, piece in enumerate(first):
        column = [row[at] for row in rows]
        if all(other == piece for other in column):
            pieces.append(piece)
        elif at % 2 and [int(number) for number in column] == list(
            range(int(piece), int(piece) + len(column))
        ):
            pieces.append(INDEX_MARK)
            base = int(piece)
        else:
            return None
    return "".join(pieces), base


def numbered(text: str, number: int) -> str:
    """Put a number where the marks are."""
    return text.replace(INDEX_MARK, str(number))
