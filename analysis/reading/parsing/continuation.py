"""What may validly follow a call's arguments: tells a marker that means something from a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autoparser.analysis.core.alignment import is_unit
from autoparser.analysis.core.format import Literal, NamingId, Slot
from autoparser.analysis.reading.expression import (
    ArgumentList,
    Name,
    RowCall,
    RowItem,
    Section,
    Turn,
    Word,
)
from autoparser.analysis.reading.text import GoesOn, Lookahead, Reading

from .call_openings import call_open


class AfterArguments:
    """What may follow the arguments of a turn's calls."""

    def __init__(self, turn: Turn, section: Section, offered: frozenset[str] | None) -> None:
        """Take the turn and its calls; `offered` are the tools, None: any."""
        self._section, self._offered = section, offered
        self._ends = tuple(end.core for end in turn.ends if end.core)
        self._closes = (*section.later_close.units, *section.close.units)
        self._opening = call_open(section.call)

    def after(self, rest: Sequence[RowItem], name: str) -> GoesOn:
        """Return what may follow arguments that this rest of a call's row comes after.

        That is what closes the call, then the next call, the turn's end or the text's. Each of
        these may come early: the closers before it were forgotten then.
        """
        closers = tuple(_closers(rest, name))

        def goes_on(ahead: Lookahead) -> Reading[bool | None]:
            begun = yield from self._first(ahead, closers)
            if begun is None:
                closed = yield from self._closes_section(ahead)
                ended = not closed and (yield from ahead.among(self._ends)) is not None
                if not closed and not ended:
                    return (yield from self._ends_in_sign(ahead)) or (yield from self._calls(ahead))
                return (yield from (self._over if closed else _finished)(ahead))
            for closer in closers[begun:]:
                if (yield from self._over(ahead)):
                    return True
                if not (yield from _takes(ahead, closer)):
                    return False
            if (yield from self._over(ahead)):
                return True
            if (yield from self._closes_section(ahead)):
                return True if (yield from self._over(ahead)) else None
            return None if begun == 1 else False

        return goes_on

    def _first(self, ahead: Lookahead, closers: Sequence[str | None]) -> Reading[int | None]:
        """Take the closer that is there; say which comes after it, None where none is there."""
        for at, closer in enumerate(closers):
            if closer and (yield from ahead.text(closer)):
                return at + 1
        return None

    def _closes_section(self, ahead: Lookahead) -> Reading[bool]:
        """Take what closes all calls, or what of it is left."""
        for at in range(len(self._closes)):
            if (yield from ahead.row(self._closes[at:])):
                return True
        return False

    def _ends_in_sign(self, ahead: Lookahead) -> Reading[bool]:
        """Whether the text ends with the sign that closes all calls, without the marker behind it.

        What does not follow is looked at again from where the sign begins.
        """
        if len(self._closes) < _PAIR or is_unit(self._closes[0]):
            return False
        beyond = Lookahead(ahead.tape, ahead.tape.offset + ahead.at)
        return (yield from beyond.row(self._closes[:1])) and (yield from _finished(beyond))

    def _over(self, ahead: Lookahead) -> Reading[bool]:
        """Whether the text ends here, or the turn, or another call begins."""
        if (yield from _finished(ahead)) or (yield from ahead.among(self._ends)) is not None:
            return True
        return (yield from self._calls(ahead))

    def _calls(self, ahead: Lookahead) -> Reading[bool]:
        """Whether a call of an offered tool begins here."""
        section, opening = self._section, self._opening
        if section.separator.units:
            yield from ahead.row(section.separator.units)
        if section.open.units:
            yield from ahead.row(section.open.units)
        if not opening.units or not (yield from ahead.row(opening.units)):
            return False
        yield from ahead.space()
        if not isinstance(section.call, RowCall):
            return (yield from ahead.text("{"))
        return (yield from self._named(ahead, section.call.row[1:], section.call.naming))

    def _named(
        self, ahead: Lookahead, row: Sequence[RowItem], naming: NamingId | None
    ) -> Reading[bool]:
        """Whether the rest of a row comes up to the name of a tool, and what stands after that."""
        for at, item in enumerate(row):
            if isinstance(item, Literal):
                if not (yield from ahead.row(item.units)):
                    return False
                continue
            if isinstance(item, ArgumentList):
                return True
            yield from ahead.space()
            word = yield from ahead.word(_WORD, _LONGEST_WORD)
            carries = isinstance(item, Word) and item.slot is Slot.ID and naming is not None
            if isinstance(item, Name) or carries:
                stop = _first_unit(row[at + 1 : at + 2])
                name, stopped, _ = word.partition(stop) if stop else (word, "", "")
                if naming is not None:
                    name = naming.name_in(name, self._offered)
                if not name or (self._offered is not None and name not in self._offered):
                    return False
                return bool(stopped or not stop) or (yield from ahead.row((stop,)))
        return False


def _finished(ahead: Lookahead) -> Reading[bool]:
    """Whether the text ends here, and nothing has cut it."""
    yield from ahead.space()
    return (yield from ahead.ended()) and ahead.tape.complete


def _first_unit(items: Sequence[RowItem]) -> str:
    return next((unit for item in items if isinstance(item, Literal) for unit in item.units), "")


def _closers(rest: Sequence[RowItem], name: str) -> Iterator[str | None]:
    """Return the texts that close a call, in order; None: any word."""
    for item in rest:
        if isinstance(item, Literal):
            yield from item.units
        else:
            yield name if name and isinstance(item, Name) else None


def _takes(ahead: Lookahead, closer: str | None) -> Reading[bool]:
    if closer is not None:
        return (yield from ahead.text(closer))
    return bool((yield from ahead.word(_WORD, _LONGEST_WORD)))


_WORD = re.compile(r"[^\s{}\[\]<>\"'()]+")
_LONGEST_WORD = 256
_PAIR = 2
