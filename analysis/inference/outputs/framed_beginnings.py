r"""What some texts begin with and close alike, where no marker in brackets stands out.

Words in a sentence are alike by chance; what opens a block has a word and a sign that sentences
lack, and so has what closes it, or a line of its own. Of the texts

    '{"thought": "Rain, perhaps."}\nLet me see.'      the opening is '{"thought": "',
    '{"thought": "Ask the tool."}\n'                  the closing is '"}\n'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .majority import ODD, shared_beginning

__all__ = ["MARKUP_SIGN", "FramedBeginning", "framed_beginning"]

_HEAD = 4
"""Texts whose first characters are the same, so many of them, may begin alike."""
_SHARE = 0.3
"""So many of all texts have to begin alike."""
_FEWEST = 3
MARKUP_SIGN = re.compile(r"[^\w\s.,;:!?…'’\"“”()*–—-]")
"""What sentences do not have."""
_LAST_WORDS = re.compile(r"[^\n:\"<>\[\](){}|#=`]*\Z")
"""What follows the last sign of an opening: reasoning that begins alike."""


class FramedBeginning(NamedTuple):
    """What stands before and after the block at the front of some texts."""

    opening: str
    closing: str


def framed_beginning(texts: Sequence[str]) -> FramedBeginning | None:
    """Find how a good part of the texts begin, and what ends that beginning in nearly all."""
    heads = Counter(text[:_HEAD] for text in texts if MARKUP_SIGN.search(text[:_HEAD]))
    for head, count in heads.most_common(1):
        begun = [text for text in texts if text.startswith(head)]
        opening = _LAST_WORDS.sub("", shared_beginning(begun))
        if count < max(_FEWEST, _SHARE * len(texts)) or not re.search(r"[^\W\d_]{2}", opening):
            return None
        closing = _shared_inside(
            [text[len(opening) :] for text in begun if text.startswith(opening)]
        )
        return FramedBeginning(opening, closing) if closing else None
    return None


def _shared_inside(texts: Sequence[str]) -> str:
    """Return the longest text with a sign that nearly all of these hold once."""
    needed = len(texts) - len(texts) // ODD
    base = sorted(texts, key=len)[len(texts) // ODD]
    found, end = "", 0
    for start in range(len(base)):
        end = max(end, start)
        while end < len(base) and _holding(texts, base[start : end + 1]) >= needed:
            end += 1
        each = base[start:end]
        if len(each) > max(1, len(found)) and MARKUP_SIGN.search(each):
            found = each
    once = sum(text.count(found) == 1 for text in texts) if found else 0
    return found if once >= needed else ""


def _holding(texts: Sequence[str], part: str) -> int:
    return sum(part in text for text in texts)
