"""Words of a call that say the type of a value, and are no constants of its markup.

Worked example: where ``<p name=K type="string">V</p>`` is written for a text and ``<p name=K
type="number">V</p>`` for a number, the second literal of the row ends with such a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

__all__ = ["TypeWords", "type_words"]

_WORD = re.compile(r"[\w-]+")
_WORD_END = re.compile(r"[\w-]*$")
_WORD_START = re.compile(r"[\w-]*")


@dataclass(frozen=True, slots=True)
class TypeWords:
    """Where the rows of arguments differ by the value's type in a word, and in which."""

    edges: Mapping[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By the piece of the row: how much of it stands before the word, and how much after."""
    spoken: tuple[tuple[str, tuple[JsonType, ...]], ...] = ()
    """Each word, and the types of which it is said."""


def type_words(arguments: ArgumentFormat) -> TypeWords:
    """Find the words that say a type; none where rows differ in more than words."""
    rows = {
        kind: row
        for kind in JsonType
        if kind not in arguments.refused and (row := arguments.members.row(kind)) is not None
    }
    first = next(iter(rows.values()), ())
    if not all(_slots(row) == _slots(first) for row in rows.values()):
        return TypeWords()
    edges: dict[int, tuple[int, int]] = {}
    for at, piece in enumerate(first):
        texts = [str(row[at]) for row in rows.values()]
        if isinstance(piece, RowSlot) or len({*texts}) == 1:
            continue
        found = _word_edges(texts)
        if found is None:
            return TypeWords()
        edges[at] = found
    return TypeWords(edges, _spoken(rows, edges))


def _slots(row: Row) -> list[RowSlot | None]:
    return [piece if isinstance(piece, RowSlot) else None for piece in row]


def _word_edges(texts: Sequence[str]) -> tuple[int, int] | None:
    """Return how much the texts have in common before and after one word; None: it is no word."""
    before = min(prefix_length(texts[0], text) for text in texts)
    before -= len(_matched(_WORD_END.search(texts[0][:before])))
    rests = [text[before:] for text in texts]
    after = min(suffix_length(rests[0], rest) for rest in rests)
    after -= len(_matched(_WORD_START.match(rests[0][len(rests[0]) - after :])))
    words = [rest[: len(rest) - after] for rest in rests]
    return (before, after) if all(_WORD.fullmatch(word) for word in words) else None


def _matched(match: re.Match[str] | None) -> str:
    return match.group() if match else ""


def _spoken(
    rows: Mapping[JsonType, Row], edges: Mapping[int, tuple[int, int]]
) -> tuple[tuple[str, tuple[JsonType, ...]], ...]:
    said: dict[str, list[JsonType]] = {}
    for at, (before, after) in [*edges.items()][:1]:
        for kind, row in rows.items():
            text = str(row[at])
            said.setdefault(text[before : len(text) - after], []).append(kind)
    return tuple((word, tuple(kinds)) for word, kinds in said.items())
