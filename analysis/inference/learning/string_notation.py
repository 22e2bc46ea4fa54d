"""How a string is written, learnt from one string that holds everything that gets escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from autoparser.analysis.core.format import (
    ESCAPES_BY_RULE,
    Edges,
    Escape,
    JsonType,
    Row,
    Slot,
    StringGuard,
    Strip,
    Text,
)

from .entries import EntryOrder, Place
from .learnt_rows import cut_at, match_row, without_equal_quotes
from .slots import SeenSlot


@dataclass(frozen=True, slots=True)
class Strings:
    """How an entry is written whose value is a string."""

    row: Row
    """Whatever stands around the value, its quotes too: what is its own, other types tell."""
    text: Text
    """What becomes of the string between these literals, or with the quotes that it chooses."""


def learn_strings(place: Place, entries: EntryOrder, key: SeenSlot | None) -> Strings | None:
    """Learn an entry with a string; None where a container with one entry is written otherwise."""
    word = place.sentinels.values[0]
    only = entries.inside(place.site(place.strings(1)))
    if only is None:
        return None
    row = cut_at((only,) if key is None else key.cut((only,)), word, Slot.VALUE)
    for each in (row, without_equal_quotes(row)):
        if each is None:
            continue

        def written(value: str, row: Row = each) -> str | None:
            entry = entries.inside(place.site(place.one(value)))
            return None if entry is None else match_row(row, entry, place.key(JsonType.STRING))

        shown = written(hostile_string(word))
        text = None if shown is None else learn_text(shown, word, written)
        if text is not None:
            return Strings(row, text)
    return Strings(row, Text())


_HOSTILE = ('"', "'", "\\", "\n", "\t", "<", ">", "&", "/", "é", "日", "😀", "{", "%")
_LEAD, _TRAIL = "\n\n ", " \n\n"


def hostile_string(word: str) -> str:
    """Return a string of `word` and of every character that some notation escapes."""
    return _LEAD + word + "".join(char + word for char in _HOSTILE) + _TRAIL


def learn_text(written: str, word: str, write_again: Callable[[str], str | None]) -> Text | None:
    """Say how `hostile_string(word)` came to be written so; None where nothing explains it.

    `write_again` shows how another string is written at the same place.
    """
    original = hostile_string(word)
    return (
        _styled(written, original)
        or _guarded(written, original, word, write_again)
        or _tabled(written, word)
    )


@cache
def _styles() -> Sequence[Text]:
    """Return every way of writing that one rule tells, those that strip nothing first."""
    plain = [Text(escape=escape) for escape in ESCAPES_BY_RULE]
    stripped = [
        Text(escape=escape, edges=Edges(left, right))
        for escape, left, right in product(ESCAPES_BY_RULE, Strip, Strip)
    ]
    return plain + stripped


def _styled(written: str, original: str) -> Text | None:
    return next((text for text in _styles() if text.write(original) == written), None)


def _guarded(
    written: str, original: str, word: str, write_again: Callable[[str], str | None]
) -> Text | None:
    """Recognise a wrapper that is written around some strings only."""
    for escape in (Escape.VERBATIM, Escape.JSON):
        plain = Text(escape=escape)
        opening, found, close = written.partition(plain.write(original))
        if not found:
            continue
        guarded = ""
        for char in _HOSTILE:
            sample = word + char + word
            if write_again(sample) == f"{opening}{plain.write(sample)}{close}":
                guarded += char
        return Text(escape=escape, guard=StringGuard(guarded, opening, close))
    return None


def _tabled(written: str, word: str) -> Text | None:
    """Read an escape for each character off the text between the words."""
    parts = written.split(word)
    if len(parts) != len(_HOSTILE) + 2:
        return None
    edges = _edges(parts[0], parts[-1])
    if edges is None:
        return None
    table = {char: part for char, part in zip(_HOSTILE, parts[1:-1], strict=True) if part != char}
    return Text(escape=Escape.TABLE, edges=edges, table=table)


def _edges(lead: str, trail: str) -> Edges | None:
    for left, right in product(Strip, Strip):
        if left.left(_LEAD) == lead and right.right(_TRAIL) == trail:
            return Edges(left, right)
    return None
