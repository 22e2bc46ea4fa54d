"""What is left of a call that was cut or garbled: it is read as content, and is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.alignment import common_suffix
from autoparser.analysis.core.format import CallFormat, Slot

from .framed_beginnings import MARKUP_SIGN
from .offered import OfferedTools, WordSeen

__all__ = [
    "RestoredCall",
    "begins_call",
    "ends_call",
    "ends_in_name",
    "ends_in_opening",
    "marked_word",
    "restored_calls",
]

_SHORTEST = 2
"""What opens calls with fewer characters may stand in any sentence."""


def begins_call(content: str, calls: CallFormat) -> bool:
    """Whether content holds what opens calls: one was cut, or is garbled."""
    opening = calls.opening.strip()
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


def ends_in_opening(content: str, openings: Iterable[str]) -> bool:
    """Whether content ends as what stands before a call in other turns: it belongs to the call.

    Of `Let me see.<call>` and `<mull></mull><call>`, that is `<call>`.
    """
    shared = (common_suffix(content.rstrip(), opening.rstrip()).strip() for opening in openings)
    return any(len(text) >= _SHORTEST and MARKUP_SIGN.search(text) for text in shared)


_PAIRS = {'"': '"', "'": "'", "`": "`", "*": "*", "(": ")", "“": "”"}
"""What sentences put around a word."""
_MARK = re.compile(r'[{}\[\]<>=|#@$\\"]')
_BEFORE = re.compile(r"[^\w\s]*\n*\Z")
_AFTER = re.compile(r"\n*[^\w\s]*")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def marked_word(text: str, offered: OfferedTools) -> str:
    """Return a name of a tool, or keys of one, that markup stands next to, or an empty text.

    `look", "with": ` is what is left of a call; "`look`", look() and "look" are words of sentences.
    """
    for seen in offered.names_in(text):
        before, after, quoted = _around(text, seen)
        if quoted:
            # Markup may stand before the space: `"name": "look"`, but not in `"note", "look"`.
            before = before.rstrip(" ").removesuffix('",')
        if _MARK.search(_BEFORE.findall(before)[0] + _AFTER.findall(after.removeprefix("()"))[0]):
            return seen.word
    prose = _FENCED.sub("", text)
    if _is_json(prose):
        return ""
    for name in offered.names:
        keys = [
            key.word for key in offered.keys_in(name, prose, 0, len(prose)) if _is_key(prose, key)
        ]
        if len(keys) > 1:
            return " and ".join(keys[:2])
    return ""


def _around(text: str, word: WordSeen) -> tuple[str, str, bool]:
    """Return what stands around a word and its quotes, and whether it has any."""
    start, end = word.start, word.end
    while start and end < len(text) and _PAIRS.get(text[start - 1]) == text[end]:
        start, end = start - 1, end + 1
    return text[:start], text[end:], start < word.start


def _is_key(text: str, key: WordSeen) -> bool:
    _, after, quoted = _around(text, key)
    return re.match(r" *:?=|[:>]" if quoted else r" *:?=|[>]", after) is not None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
