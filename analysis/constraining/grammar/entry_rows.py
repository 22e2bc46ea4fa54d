"""The row of an entry: what stands around a value, and what closes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autoparser.analysis.core.format import Container, JsonType, Notation, Row, Slot

from .paths import Item, Path


def filled(row: Row, key: Path, value: Path) -> list[Item]:
    """Put a key and a value into a row."""
    items: list[Item] = []
    for piece in row:
        if piece is Slot.KEY:
            items += key
        elif piece is Slot.VALUE:
            items += value
        else:
            items.append(str(piece))
    return items


def closed_alike(rows: Sequence[Row], shared: Callable[[Sequence[str]], str]) -> Row | None:
    """Return the pieces that rows begin with, where a text of its own closes the value of each.

    One row begins with all before its value; of others the last piece is the text up to where they
    part. None where a value is not closed so, or where the rows do not part in a text.
    """
    heads: list[Row] = []
    for row in rows:
        at = row.index(Slot.VALUE) if Slot.VALUE in row else len(row)
        if not _is_closed(row[at + 1 :]):
            return None
        heads.append(row[:at])
    if len(heads) < 2:  # noqa: PLR2004 - nothing parts from one
        return heads[0] if heads else None
    lasts = [piece for head in heads for piece in head[-1:] if not isinstance(piece, Slot)]
    if len(lasts) < len(heads) or len({head[:-1] for head in heads}) > 1:
        return None
    text = shared(lasts)
    return (*heads[0][:-1], text) if text and text not in lasts else None


def _is_closed(tail: Row) -> bool:
    """Whether what stands after a value ends it, whatever it is: one text, and no single sign."""
    return len(tail) == 1 and not isinstance(tail[0], Slot) and len(tail[0].strip()) > 1


def writes_key_twice(container: Container) -> bool:
    """Whether a member's name stands in what closes it, too."""
    return any(row.count(Slot.KEY) > 1 for row in _rows(container))


def begins_as_text(container: Container) -> bool:
    """Whether nothing but blanks stands before a key: the text of a value may go on so.

    A reader then takes a declared name for the next entry, and any word where others are asked for.
    """
    begins = any(row[0] is Slot.KEY for row in _rows(container)) and not container.key.open
    return begins and not container.separator.strip()


def key_ends(container: Container) -> str:
    """Return the characters that may end a key: the first of each text that follows one.

    A blank is one of them where its reader looks for a word (`begins_as_text`).
    """
    found = {" "} if begins_as_text(container) else set[str]()
    for row in _rows(container):
        for piece, following in zip(row, (*row[1:], ""), strict=True):
            if piece is Slot.KEY and not isinstance(following, Slot):
                found.add(f"{container.key.close}{following}"[:1])
    return "".join(sorted(found))


def kinds_told(container: Container, row: Row) -> frozenset[JsonType] | None:
    """Return the types whose values are written in a row, where there are several rows.

    None where the row tells nothing of the type.
    """
    rows = {kind: container.row(kind) for kind in JsonType}
    if len({each for each in rows.values() if each is not None}) < 2:  # noqa: PLR2004 - one row
        return None
    return frozenset(kind for kind, each in rows.items() if each == row)


def closes_of(row: Row, container: Container, outer: Notation) -> list[str]:
    """Return the texts that end a raw string of an entry: what closes it, what begins the next."""
    text = (container.values or outer).string
    tail = row[row.index(Slot.VALUE) + 1 :] if Slot.VALUE in row else ()
    after = "" if not tail or isinstance(tail[0], Slot) else tail[0]
    if text.open:
        follows = after.strip() or container.separator.strip() or container.close.strip()
        return [text.close + follows]
    openings = dict.fromkeys([opening_of(row), *map(opening_of, _rows(container))])
    return [after.strip() or container.separator.strip(), *openings]


def lead_of(container: Container) -> str:
    r"""Return what every entry begins with, where nothing else tells it from a bare text before it.

    In `@arg a\nx\n@arg b\ny` a line break ends no text: one in a text looks alike.
    """
    if container.separator.strip():
        return ""
    leads = {str(row[0]) if opening_of(row) else "" for row in _rows(container)}
    return leads.pop() if len(leads) == 1 else ""


def opening_of(row: Row) -> str:
    """Return the text that an entry begins with; empty where that may as well stand in a text."""
    opening = "" if isinstance(row[0], Slot) else row[0].strip()
    return opening if len(opening) > 2 else ""  # noqa: PLR2004 - a bracket may stand in a text


def _rows(container: Container) -> list[Row]:
    """Return the rows in which entries are written, whatever their values are."""
    return [container.entry, *filter(None, container.typed.values())]
