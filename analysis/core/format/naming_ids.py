"""Ids that carry the name of a call's function, where nothing else of a call does.

Where a render shows how such an id is put together or taken apart, that is its row. Where none
does, one general rule holds. The words of an id are its letters, digits, `_` and `-`; what stands
between them is its own separators. The only offered name that stands in it as whole words names the
call: `functions.delete:0` calls `delete`, and `functions.undelete:0` does not. Of names of which
one holds the other, the longer one counts. Else the call is of an unknown function: of the last
word in an id such as `functions.remove:0`, or, where several offered names stand in it, of the
whole id. An id that looks otherwise, such as `weird@id`, names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from .notation import Row, Slot


@dataclass(frozen=True, slots=True)
class NamingId:
    """How an id carries a name."""

    row: Row = ()
    """Literals and slots, as the template itself writes such an id or takes it apart: the name, the
    index, and for a word that no render tells anything about, the id. Empty: no render shows it."""

    def write(self, name: str, index: int) -> str:
        """Write the id of the call that has this index; where no render shows one, a plain one."""
        slots = {Slot.NAME: name, Slot.INDEX: str(index), Slot.ID: str(index)}
        row = self.row or (Slot.NAME, ":", Slot.INDEX)
        return "".join(slots[piece] if isinstance(piece, Slot) else piece for piece in row)

    def pattern(self, name: str, escaped: Callable[[str], str], *, word: str, number: str) -> str:
        """Put a regular expression of such ids together: of its parts' own, without groups.

        Where no render shows one, other words may stand before the name, and a number after it.
        """
        if not self.row:
            return f"(?:{word}[{_SIGNS}])?{name}(?:[{_SIGNS}]{number})?"
        slots = {Slot.NAME: name, Slot.INDEX: number, Slot.ID: word}
        return "".join(
            slots[piece] if isinstance(piece, Slot) else escaped(piece) for piece in self.row
        )

    def name_in(self, call_id: str, offered: Collection[str] | None) -> str:
        """Find the name in an id, empty where it holds none; `offered` are the tools, None: any."""
        if self.row:
            pattern = self.pattern(r"(.+?)", re.escape, word=r".*?", number=r"\d+")
            match = re.fullmatch(pattern, call_id, re.DOTALL)
            if match is not None:
                return str(match.group(1))
        standing = [name for name in offered or () if _stands(name, call_id)]
        longest = [name for name in standing if not _within_another(name, standing)]
        if len(longest) == 1:
            return longest[0]
        if longest:
            return call_id
        unknown = _UNKNOWN.fullmatch(call_id)
        return str(unknown.group(1)) if unknown is not None else ""


_SIGNS = ".:/"
_UNKNOWN = re.compile(rf"(?:[\w-]+[{_SIGNS}])*(?!\d+(?:[{_SIGNS}]|$))([\w-]+)(?:[{_SIGNS}]\d+)?")


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a text as whole words."""
    return bool(name) and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _within_another(name: str, names: Collection[str]) -> bool:
    return any(other != name and _stands(name, other) for other in names)
