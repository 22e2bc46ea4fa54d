"""Text that a template writes, and what of it a reader may notice."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import chain, product, zip_longest

from msgspec import Struct

from .text_alignment import edge_units, first_marker, is_unit


class TemplateLiteral(Struct, frozen=True, dict=True):
    """Text that the template writes, the whitespace at its edges apart.

    What of it looks like a marker is answered once, for all who read it.
    """

    before: str = ""
    core: str = ""
    after: str = ""

    @classmethod
    def of(cls, text: str) -> TemplateLiteral:
        """Cut a text into its core and its edges; all of a text without a core is before it."""
        return _short(text) if len(text) <= _SHORT else _cut(text)

    @property
    def text(self) -> str:
        """All that is written."""
        return f"{self.before}{self.core}{self.after}"

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The parts of the core between which a model may put whitespace.

        The space after `(call ` makes a marker of it, so what follows the core is looked at too.
        What stands between two markers is cut at its whitespace, and after a tag that closes in it.
        """
        units: list[str] = []
        for unit in map(str.strip, edge_units(f"{self.core}{self.after}")):
            units += [unit] if is_unit(unit) else filter(None, _BETWEEN.split(unit))
        return tuple(units)

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """The units that look like a marker: a word in brackets or between signs."""
        return tuple(filter(is_unit, self.units))

    @property
    def is_marker(self) -> bool:
        """Whether all of it is one marker."""
        return is_unit(self.core)

    @property
    def is_marked(self) -> bool:
        """Whether it begins with a marker."""
        return bool(self.units) and is_unit(self.units[0])

    @property
    def first(self) -> str:
        """The core up to and with its first marker; all of it where it has none."""
        return first_marker(self.core).strip()

    @property
    def trigger(self) -> str:
        """The text by which a reader notices it: the marker it begins with, or all of it."""
        return self.first if self.is_marked else self.core

    @property
    def noticed_by_marker(self) -> bool:
        """Whether one marker is its trigger: no word after it belongs to that."""
        return is_unit(self.trigger)

    @property
    def mark(self) -> str:
        """The core, where it is noticed in a text; empty where it is only punctuation."""
        return self.core if any(map(str.isalnum, self.core)) else ""


def _cut(text: str) -> TemplateLiteral:
    core = text.strip()
    if not core:
        return TemplateLiteral(before=text)
    start = text.index(core[0])
    return TemplateLiteral(text[:start], core, text[start + len(core) :])


_BETWEEN = re.compile(r"\s+|(?<=>)(?=[^\s>])")
_SHORT = 256
_short = lru_cache(maxsize=2048)(_cut)
"""Every request asks the same of the same few texts of a format."""


_MOST_VARIED = 8


@lru_cache(maxsize=256)
def spaced_spellings(text: str) -> tuple[str, ...]:
    """Return a text, first as it is written, then with other whitespace where it has some.

    Words keep the space between them: it is a part of what they say.
    """
    if _GAP.search(text) is None:
        return (text,)
    pieces = _GAP.split(text)
    gaps = [
        tuple(dict.fromkeys((gap, *_GAPS)))
        if at < _MOST_FREE
        # Each gap doubles the spellings: a text with many is no marker that a model misspells.
        else ((gap, "") if at < _MOST_VARIED else (gap,))
        for at, gap in enumerate(pieces[1::2])
    ]
    rows = (zip_longest(pieces[::2], chosen, fillvalue="") for chosen in product(*gaps))
    return tuple("".join(chain.from_iterable(row)) for row in rows)


_GAP = re.compile(r"(?<=\S)((?<!\w)\s+|\s+(?!\w))(?=\S)")
_GAPS = ("", " ", "\n", "\r\n", "\n\n", "\r\n\r\n")
_MOST_FREE = 2
"""So many gaps of a text may be any of these; a further one is as it is written, or missing."""


class MarkerBlock(Struct, frozen=True):
    """What opens and closes reasoning or content."""

    open: TemplateLiteral
    close: TemplateLiteral
    others: tuple[TemplateLiteral, ...] = ()
    """Literals that open it beside other parts."""
    leads: bool = False
    """The turn begins with it, and nothing opens it."""
    empty: str | None = None
    """Whitespace after it where it is empty; None: the template writes no empty block."""

    def opened_by(self, prompt: str) -> str | None:
        """Return the whitespace that is missing after a prompt that opens it at its very end.

        None where it opens nothing. The front of a generation prompt varies: after the result of
        a call some templates write no header.
        """
        core = prompt.rstrip()
        if not self.open.mark or not core.endswith(self.open.mark):
            return None
        space, after = prompt[len(core) :], self.open.after
        return after[len(space) :] if after.startswith(space) else ""
