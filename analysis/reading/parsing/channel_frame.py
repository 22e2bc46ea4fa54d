"""Openings that differ in their words alone: what a turn's channels look like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.format import Literal, Part
from autoparser.analysis.reading.expression import ArgumentList, Name, RowCall, Turn

LONGEST_HEADER = 160
"""How many characters the words of a header and its markers may have: a longer text is none."""


@dataclass(frozen=True, slots=True)
class ChannelFrame:
    """Two markers, and the words that templates write between them.

    `<|channel|>analysis<|message|>` and `<|channel|>final<|message|>` give the markers
    `<|channel|>` and `<|message|>`, and the words `analysis` and `final`.
    """

    first: str
    last: str
    opened: Mapping[str, Part]
    """What the words open, but for those of calls."""
    lead: Literal | None = None
    """What stands before a call's name and is read where a header may stand, not in content.

    It is words, as ` to=` before `get_weather`, or words after the first marker where every block
    has a header. None where calls begin otherwise.
    """

    def means(self, opening: str) -> Part:
        """Say what an opening opens: what the longest known words do that its words begin with.

        Unknown ones open content.
        """
        words = opening.removeprefix(self.first).removesuffix(self.last).strip()
        known = [each for each in self.opened if re.match(rf"{re.escape(each)}(?!\w)", words)]
        return self.opened[max(known, key=len)] if known else Part.CONTENT


def frame_of(turn: Turn) -> ChannelFrame | None:
    """Find the frame of a turn's openings; None where no two of them share their markers."""
    frames: dict[tuple[str, ...], dict[str, Part]] = {}
    for literal, part in _openings(turn):
        core, markers = literal.core, literal.markers
        if len(markers) != _MARKERS or markers[0] == markers[1]:
            continue
        first, last = markers
        if core.startswith(first) and core.endswith(last):
            words = core[len(first) : len(core) - len(last)].strip()
            frames.setdefault(markers, {}).setdefault(words, part)
    for markers, parts in frames.items():
        opened = {words: part for words, part in parts.items() if part is not Part.CALLS}
        if len(parts) > 1 and opened:
            return ChannelFrame(markers[0], markers[1], opened, _lead(turn, markers[0]))
    return None


_MARKERS = 2


def _openings(turn: Turn) -> Iterator[tuple[Literal, Part]]:
    if turn.reasoning is not None:
        yield turn.reasoning.open, Part.REASONING
    for literal in (turn.content.open, *turn.content.others):
        yield literal, Part.CONTENT
    if turn.calls is not None:
        yield turn.calls.open, Part.CALLS
        if isinstance(turn.calls.call, RowCall):
            for item in turn.calls.call.row:
                if isinstance(item, ArgumentList):
                    break
                if isinstance(item, Literal):
                    yield item, Part.CALLS


def recipient(turn: Turn, offered: frozenset[str] | None) -> re.Pattern[str] | None:
    """Return the pattern of the word that leads to a tool's name, and of the name, its group.

    Where `<|channel|>work to=` stands before names, the word is `to=`; None where it is none.
    """
    lead = _before_name(turn)
    words = "" if lead is None else lead.core
    for marker in () if lead is None else lead.markers:
        words = words.rpartition(marker)[2]
    if not any(map(str.isalnum, words)):
        return None
    names = sorted(offered or (), key=len, reverse=True)
    name = r"[\w.-]+" if offered is None else "|".join(map(re.escape, names))
    word, sign, space = words.split()[-1].rpartition("=")
    # Of `to=functions.` the namespace may be missing before a tool that was offered.
    optional = rf"(?:{re.escape(space)})?" if sign and names else re.escape(space)
    return re.compile(rf"(?<!\w){re.escape(word + sign)}{optional}\s*({name})(?![\w-])")


def _lead(turn: Turn, first: str) -> Literal | None:
    lead = _before_name(turn)
    if lead is None or not lead.mark:
        return None
    headed = turn.goes_on and lead.markers == (first,) and lead.core.startswith(first)
    return lead if headed or not lead.markers else None


def _before_name(turn: Turn) -> Literal | None:
    """Return what a call begins with, where its name comes next."""
    call = None if turn.calls is None else turn.calls.call
    if not isinstance(call, RowCall) or not isinstance(call.row[1], Name):
        return None
    return call.row[0] if isinstance(call.row[0], Literal) else None
