"""An entry's literals, and the types of values that are written so."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.format import Arguments, JsonType, Literal, Row, Slot


class EntryRow:
    """The literals of an entry: before its key, between key and value, after the value."""

    def __init__(self, row: Row) -> None:
        """Take a row apart."""
        self.before, self.middle, self.after, self.end = "", "", "", ""
        self.keyed_close = False
        place = "before"
        for piece in row:
            if piece is Slot.KEY and place == "after":
                self.keyed_close, place = True, "end"
            elif piece is Slot.KEY:
                place = "middle"
            elif piece is Slot.VALUE:
                place = "after"
            else:
                setattr(self, place, getattr(self, place) + str(piece))
        self.kinds: set[JsonType] = set()
        self.quote = ""
        """The quote that the template writes around values of every type, where a model writes the
        value without it: as a literal of its own."""


def openings_of(rows: Sequence[EntryRow]) -> tuple[Literal, ...]:
    """Return what may open an entry, each once."""
    return tuple(dict.fromkeys(Literal.of(row.before) for row in rows))


def entry_rows(arguments: Arguments) -> list[EntryRow]:
    """Return the rows that differ, with the types that each is for."""
    members = arguments.members
    known: dict[Row, EntryRow] = {}
    for kind in JsonType:
        row = members.row(kind)
        if row is not None:
            known.setdefault(row, EntryRow(row)).kinds.add(kind)
    return list(known.values())


def key_closers(arguments: Arguments) -> tuple[str, ...]:
    """Return what may stand right behind a key, where a marker opens the keys and comes first."""
    if arguments.members.open.strip():
        return ()
    rows = [row for row in entry_rows(arguments) if Literal.of(row.before).is_marked]
    return tuple(
        dict.fromkeys(Literal.of(row.middle).units[0] for row in rows if row.middle.strip())
    )


def without_quotes(rows: Sequence[EntryRow]) -> list[EntryRow]:
    """Return the rows without the quotes that all their values stand between; else none.

    `days="{{ days }}"` is also written `days=3`, and `city="{{ city }}"` also `city='Oslo'`.
    """
    quotes = {(row.middle[-1:], row.after[:1]) for row in rows}
    if len(quotes) != 1 or not quotes <= {('"', '"'), ("'", "'")}:
        return []
    bare: list[EntryRow] = []
    for row in rows:
        other = EntryRow(())
        other.before, other.middle, other.after = row.before, row.middle[:-1], row.after[1:]
        other.quote = row.middle[-1]
        other.kinds = row.kinds
        bare.append(other)
    return bare
