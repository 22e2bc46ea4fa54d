r"""Learn the numbers of calls: texts that are equal except for a number that grows by one.

In `fixtures/templates/j6-numbered-calls.jinja` the texts between three calls are

    "}},\n    {"tool_call_id": "1", "tool_name": "
    "}},\n    {"tool_call_id": "2", "tool_name": "

so `mark_numbers` returns one text, with `INDEX_MARK` where `1` and `2` are, and the first number,
1. `fill_number` replaces the mark again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

INDEX_MARK = "\ue000"
"""Placeholder for the number of the call in a learned text."""

_NUMBERS = re.compile(r"(\d+)")


def mark_numbers(texts: Sequence[str]) -> tuple[str, int] | None:
    """Return the text that `texts` share, with marks for counting numbers, and the first number.

    Return None if the texts differ in anything else. A text without counting numbers is returned
    unchanged, with -1.
    """
    rows = [_NUMBERS.split(text) for text in texts]
    first = rows[0]
    if any(len(row) != len(first) for row in rows):
        return None
    base = -1
    pieces: list[str] = []
    # `split` puts the numbers at odd positions: `a1b2` is `a`, `1`, `b`, `2`, ``.
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


def fill_number(text: str, number: int) -> str:
    """Replace the marks by a number."""
    return text.replace(INDEX_MARK, str(number))
