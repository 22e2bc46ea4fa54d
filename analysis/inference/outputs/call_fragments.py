"""What is left of a call that was cut or garbled: it is read as content, and is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.format import CallFormat, Slot

__all__ = ["RestoredCall", "begins_call", "ends_call", "ends_in_name", "restored_calls"]

_SHORTEST = 2
"""What opens calls with fewer characters may stand in any sentence."""


def begins_call(content: str, calls: CallFormat) -> bool:
    """Whether content holds what opens calls: one was cut, or is garbled."""
    first = calls.row[0]
    opening = (calls.section_open + ("" if isinstance(first, Slot) else first)).strip()
    return len(opening) >= _SHORTEST and opening in content


def ends_call(content: str, calls: CallFormat) -> bool:
    """Whether content ends with what closes calls: what opened the call is garbled.

    Of `</call>` that is sure. Signs alone may end any content, as three backticks end code.
    """
    last = calls.row[-1]
    closing = (("" if isinstance(last, Slot) else last) + calls.section_close).strip()
    return re.search(r"\w", closing) is not None and content.rstrip().endswith(closing)


_FRAGMENT = 3
"""So many letters of a name may be what is left of it."""


@dataclass(frozen=True, slots=True)
class RestoredCall:
    """A text from a place on where the end of a name stands, with all that stands before it."""

    name: str
    text: str
    sure: bool
    """No sentence has such a word, or it follows what is left of the opening."""


def restored_calls(content: str, heads: Mapping[str, str]) -> Iterator[RestoredCall]:
    """Restore calls whose opening and name are cut: whether they are calls, a parser has to say.

    `heads` are what a turn of one call begins with, up to the name. Of `(cat_rooms)`, where a call
    is `(call list_rooms)`, what is left of the opening is `(ca`, and of the name `t_rooms`.
    """
    for name, head in heads.items():
        for found in re.finditer(re.escape(name[-_FRAGMENT:]), content):
            start = found.start()
            left = len(name) - _FRAGMENT
            while left and start and content[start - 1] == name[left - 1]:
                start, left = start - 1, left - 1
            if left:
                opened = _left_of(head.strip(), content[:start]) > 1
                sure = opened or not name[left:].isalpha()
                yield RestoredCall(name, head + name + content[found.end() :], sure)


def _left_of(opening: str, before: str) -> int:
    """Return how many characters of an opening are left where a text ends."""
    counts = range(len(opening), 0, -1)
    return next((count for count in counts if before.endswith(opening[:count])), 0)


def ends_in_name(content: str, heads: Mapping[str, str]) -> bool:
    """Whether content ends with what opens a call and letters of a name that are no word."""
    return any(
        not name[:count].isalpha() and content.endswith(head.lstrip() + name[:count])
        for name, head in heads.items()
        if head.strip()
        for count in range(_FRAGMENT, len(name))
    )
