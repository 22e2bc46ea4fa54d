"""Which closers stand where nothing that they close is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.core.format import Literal, Part, Slot
from autoparser.analysis.reading.expression import (
    ArgumentList,
    Body,
    JsonCall,
    RowCall,
    Section,
    Turn,
)

from .call_openings import call_opens
from .stop_marks import StopMark


class OpenParts:
    """What of a turn's content is open, as far as it was read: says which closer is stray.

    With `<think>R</think>C` as the template writes it, in `C</think>D` the closer is stray. Where a
    template begins answers without reasoning with `</think>`, that one is not.
    """

    __slots__ = ("_content", "_turn", "quoted")

    def __init__(self, turn: Turn) -> None:
        """Begin a turn."""
        self._turn = turn
        self._content = False
        self.quoted = False
        """Whether what last looked like an opener of reasoning was text."""

    def opened_content(self) -> None:
        """Note that what encloses content has opened."""
        self._content = True

    def strays(self, mark: StopMark, text: str, last: Part | None) -> bool:
        """Say whether a closer closes nothing; `last` is the part that came last before it."""
        turn = self._turn
        if text == turn.content.close.core and (self._content or _closes_unopened_content(turn)):
            self._content = False
            return False
        if mark is StopMark.REASONING_CLOSE:
            return last not in set(_closed_by_reasoning_close(turn))
        return mark is StopMark.CONTENT_CLOSE


def _closes_unopened_content(turn: Turn) -> bool:
    """Whether a row closes content that it did not open: the prompt has, or nothing does."""
    close = turn.content.close.core
    opens = [literal.core for literal in (turn.content.open, *turn.content.others)]
    for row in turn.strict.rows if close else ():
        for at, item in enumerate(row.items):
            if not isinstance(item, Body) or item.part is not Part.CONTENT:
                continue
            if close in _text(row.items, at + 1) and not any(
                open_ and open_ in _text(row.items, at - 1) for open_ in opens
            ):
                return True
    return False


def _closed_by_reasoning_close(turn: Turn) -> Iterator[Part | None]:
    """Return the parts but reasoning that a row closes so; None: it begins with that close."""
    reasoning = turn.reasoning
    if reasoning is None or not reasoning.close.core:
        return
    for row in turn.strict.rows:
        last: Part | None = None
        for item in row.items:
            if isinstance(item, Body):
                last = item.part
                continue
            before, closed, _ = item.partition(reasoning.close.core)
            opened = bool(reasoning.open.core) and reasoning.open.core in before
            if closed and not opened and last is not Part.REASONING:
                yield last


def _text(items: Sequence[object], at: int) -> str:
    item = items[at] if 0 <= at < len(items) else ""
    return item if isinstance(item, str) else ""


def call_closers(turn: Turn, section: Section) -> tuple[str, ...]:
    """Return the markers that close a call: after a closed one they are stray."""
    call = section.call
    if isinstance(call, RowCall):
        rows = (row for row in (call.row, call.empty_row) if row)
        return _alone(turn, section, [row[-1] for row in rows if isinstance(row[-1], Literal)])
    return _alone(turn, section, [call.after])


def entry_markers(call: RowCall | JsonCall) -> tuple[str, ...]:
    """Return the markers around the arguments of a call, each of them without what it encloses."""
    if isinstance(call, JsonCall):
        return ()
    lists = [item.arguments.members for item in call.row if isinstance(item, ArgumentList)]
    pieces = (piece for members in lists for piece in members.entry if not isinstance(piece, Slot))
    return tuple(dict.fromkeys(marker for piece in pieces for marker in Literal.of(piece).markers))


def section_closers(turn: Turn, section: Section) -> tuple[str, ...]:
    """Give the markers that close calls or their section: after a closed section they are stray."""
    closes = _alone(turn, section, [section.later_close, section.close])
    return tuple(dict.fromkeys((*call_closers(turn, section), *closes)))


def _alone(turn: Turn, section: Section, closes: Sequence[Literal]) -> tuple[str, ...]:
    """Return the markers of these literals that mean nothing else in a turn."""
    others = [*turn.ends, turn.header, turn.content.open, *turn.content.others]
    others += [] if turn.reasoning is None else [turn.reasoning.open]
    taken = {literal.core for literal in others} | {each.trigger for each in call_opens(section)}
    markers = dict.fromkeys(marker for literal in closes for marker in _markers(literal.core))
    return tuple(
        marker for marker in markers if not any(other.startswith(marker) for other in taken)
    )


def _markers(text: str) -> Iterator[str]:
    """Cut a text into its markers; what stands between them is left out."""
    rest = Literal.of(text)
    while rest.core:
        if rest.is_marked:
            yield rest.first
        rest = Literal.of(rest.core[len(rest.first) :])
