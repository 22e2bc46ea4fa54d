r"""Decide which texts end a call: texts that may follow arguments, and stray closers.

- `AfterArguments` decides by lookahead whether a text after arguments closes the call or is text.
- `OpenParts` decides whether a closer is stray, because nothing that it closes is open.
- `CallSurroundings` holds the texts around a call for its reader; `CallEnd` is the reader's result.

In the value below no call begins, since its own closer still comes:

    <parameter=city>\nUse <tool_call> to\n</parameter>    ->  {"city": "Use <tool_call> to"}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.text_alignment import TemplateLiteral, is_unit
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.lazy_names import lazy_pattern

from .stop_marks import StopMark, call_open, call_opens
from .text_lookahead import GoesOn, TextLookahead
from .text_tape import Reading
from .turn_nodes import (
    ArgumentList,
    CallSection,
    FunctionName,
    PartBody,
    RowCall,
    RowItem,
    SingleWord,
    TurnTree,
)

# The texts after a call's arguments.


class AfterArguments:
    """The texts that may follow the arguments of a turn's calls."""

    def __init__(self, turn: TurnTree, section: CallSection) -> None:
        """Store the turn and its calls."""
        self._section, self._offered = section, turn.offered
        self._ends = tuple(end.core for end in turn.ends if end.core)
        self._closes = (*section.later_close.units, *section.close.units)
        self._opening = call_open(section.call)
        # By closers, which only differ between calls if they contain the function's name.
        self._known: dict[tuple[str | None, ...], GoesOn] = {}

    def after(self, rest: Sequence[RowItem], name: str) -> GoesOn:
        """Return the function that recognizes the text after arguments before this rest of a row.

        That text is the closers of the call, then the next call or the end of the turn or the text.
        Each of these may come early: the closers before it are missing then.
        """
        closers = tuple(_closers(rest, name))
        known = self._known.get(closers)
        if known is None:
            known = self._after(closers)
            # A closer may contain the function's name, which the model chooses, so limit the cache.
            if len(self._known) < _MOST_KNOWN:
                self._known[closers] = known
        return known

    def _after(self, closers: Sequence[str | None]) -> GoesOn:
        def goes_on(ahead: TextLookahead) -> Reading[bool | None]:
            begun = yield from self._first(ahead, closers)
            if begun is None:
                closed = yield from self._closes_section(ahead)
                ended = not closed and (yield from ahead.among(self._ends)) is not None
                if not closed and not ended:
                    return (yield from self._ends_in_sign(ahead)) or (yield from self._calls(ahead))
                return (yield from (self._over if closed else _text_ends)(ahead))
            for closer in closers[begun:]:
                if (yield from self._over(ahead)):
                    return True
                if not (yield from _takes(ahead, closer)):
                    return False
            if (yield from self._over(ahead)):
                return True
            if (yield from self._closes_section(ahead)):
                return True if (yield from self._over(ahead)) else None
            # Another text follows all closers. With the first one missing, it is not their place.
            return None if begun == 1 else False

        return goes_on

    def _first(self, ahead: TextLookahead, closers: Sequence[str | None]) -> Reading[int | None]:
        """Move past the closer that comes; return the index of the next one, or None."""
        for at, closer in enumerate(closers):
            if closer and (yield from ahead.text(closer)):
                return at + 1
        return None

    def _closes_section(self, ahead: TextLookahead) -> Reading[bool]:
        """Move past the closer of all calls, or the rest of it; return whether it was there."""
        for at in range(len(self._closes)):
            if (yield from ahead.row(self._closes[at:])):
                return True
        return False

    def _ends_in_sign(self, ahead: TextLookahead) -> Reading[bool]:
        """Return whether the text ends with the sign before the marker that closes all calls.

        It looks ahead with another cursor, so `ahead` does not move.
        """
        # Only for a closer such as `)</calls>`: a sign, and a marker behind it.
        if len(self._closes) < _PAIR or is_unit(self._closes[0]):
            return False
        # Only the text after the sign shows whether it closes, and that is unread yet.
        beyond = TextLookahead(ahead.tape, ahead.tape.offset + ahead.at)
        return (yield from beyond.row(self._closes[:1])) and (yield from _text_ends(beyond))

    def _over(self, ahead: TextLookahead) -> Reading[bool]:
        """Return whether the text or the turn ends here, or another call begins."""
        if (yield from _text_ends(ahead)) or (yield from ahead.among(self._ends)) is not None:
            return True
        return (yield from self._calls(ahead))

    def _calls(self, ahead: TextLookahead) -> Reading[bool]:
        """Return whether a call of an offered tool begins here."""
        section, opening = self._section, self._opening
        # Separator and section opener may be missing: only the opener of one call decides.
        if section.separator.units:
            yield from ahead.row(section.separator.units)
        if section.open.units:
            yield from ahead.row(section.open.units)
        if not opening.units or not (yield from ahead.row(opening.units)):
            return False
        yield from ahead.space()
        if not isinstance(section.call, RowCall):
            return (yield from ahead.text("{"))
        return (yield from self._row_to_name(ahead, section.call.row[1:], section.call.naming))

    def _row_to_name(
        self, ahead: TextLookahead, row: Sequence[RowItem], naming: NamingId | None
    ) -> Reading[bool]:
        """Return whether a row comes up to the name of an offered tool and the text after it."""
        for at, item in enumerate(row):
            if isinstance(item, TemplateLiteral):
                if not (yield from ahead.row(item.units)):
                    return False
                continue
            if isinstance(item, ArgumentList):
                return True
            yield from ahead.space()
            word = yield from ahead.word(_WORD, _LONGEST_WORD)
            # An id such as "functions.ping:0" contains the name.
            carries = (
                isinstance(item, SingleWord) and item.slot is RowSlot.ID and naming is not None
            )
            if isinstance(item, FunctionName) or carries:
                stop = _next_unit(row[at + 1 : at + 2])
                name, stopped, _ = word.partition(stop) if stop else (word, "", "")
                if naming is not None:
                    name = naming.name_in(name, self._offered)
                if not name or (self._offered is not None and name not in self._offered):
                    return False
                return bool(stopped or not stop) or (yield from ahead.row((stop,)))
        return False


def _text_ends(ahead: TextLookahead) -> Reading[bool]:
    """Return whether the text ends here and was not cut."""
    yield from ahead.space()
    return (yield from ahead.ended()) and ahead.tape.complete


def _next_unit(items: Sequence[RowItem]) -> str:
    return next(
        (unit for item in items if isinstance(item, TemplateLiteral) for unit in item.units), ""
    )


def _closers(rest: Sequence[RowItem], name: str) -> Iterator[str | None]:
    """Return the texts that close a call, in order; None stands for any word."""
    for item in rest:
        if isinstance(item, TemplateLiteral):
            yield from item.units
        else:
            yield name if name and isinstance(item, FunctionName) else None


def _takes(ahead: TextLookahead, closer: str | None) -> Reading[bool]:
    if closer is not None:
        return (yield from ahead.text(closer))
    return bool((yield from ahead.word(_WORD, _LONGEST_WORD)))


_WORD = lazy_pattern(r"[^\s{}\[\]<>\"'()]+")
_LONGEST_WORD = 256
_MOST_KNOWN = 64
_PAIR = 2

# Stray closers.


class OpenParts:
    """Tracks the open parts of a turn and decides whether a closer is stray.

    If the template writes `<think>R</think>C`, the closer in `C</think>D` is stray. If it begins
    answers without reasoning with `</think>`, that one is not.
    """

    _content = False
    quoted = False
    """Whether the last apparent opener of reasoning was text."""

    def __init__(self, turn: TurnTree) -> None:
        """Begin a turn."""
        self._turn = turn

    def open_content(self) -> None:
        """Note that a block of content has opened."""
        self._content = True

    def strays(self, mark: StopMark, text: str, last: TurnPart | None) -> bool:
        """Return whether a closer is stray; `last` is the last part before it."""
        turn = self._turn
        # The prompt may have opened the content, so a closer without an opener can be right.
        if text == turn.content.close.core and (self._content or _closes_unopened_content(turn)):
            self._content = False
            return False
        if mark is StopMark.REASONING_CLOSE:
            return last not in set(_closed_by_reasoning_close(turn))
        return mark is StopMark.CONTENT_CLOSE


def _closes_unopened_content(turn: TurnTree) -> bool:
    """Return whether a row closes content that it did not open."""
    close = turn.content.close.core
    opens = [literal.core for literal in (turn.content.open, *turn.content.others)]
    for row in turn.strict.rows if close else ():
        for at, item in enumerate(row.items):
            if not isinstance(item, PartBody) or item.part is not TurnPart.CONTENT:
                continue
            if close in _literal_at(row.items, at + 1) and not any(
                open_ and open_ in _literal_at(row.items, at - 1) for open_ in opens
            ):
                return True
    return False


def _closed_by_reasoning_close(turn: TurnTree) -> Iterator[TurnPart | None]:
    """Return the parts before a reasoning closer other than reasoning; None for a row's begin."""
    reasoning = turn.reasoning
    if reasoning is None or not reasoning.close.core:
        return
    for row in turn.strict.rows:
        last: TurnPart | None = None
        for item in row.items:
            if isinstance(item, PartBody):
                last = item.part
                continue
            before, closed, _ = item.partition(reasoning.close.core)
            opened = bool(reasoning.open.core) and reasoning.open.core in before
            if closed and not opened and last is not TurnPart.REASONING:
                yield last


def _literal_at(items: Sequence[object], at: int) -> str:
    item = items[at] if 0 <= at < len(items) else ""
    return item if isinstance(item, str) else ""


def call_closers(turn: TurnTree, section: CallSection) -> tuple[str, ...]:
    """Return the markers that close a call: after a closed one they are stray."""
    call = section.call
    if isinstance(call, RowCall):
        rows = (row for row in (call.row, call.empty_row) if row)
        return _alone(
            turn, section, [row[-1] for row in rows if isinstance(row[-1], TemplateLiteral)]
        )
    return _alone(turn, section, [call.after])


def section_closers(turn: TurnTree, section: CallSection) -> tuple[str, ...]:
    """Return the markers that close calls or a section: after a closed section they are stray."""
    closes = _alone(turn, section, [section.later_close, section.close])
    return tuple(dict.fromkeys((*call_closers(turn, section), *closes)))


def _alone(
    turn: TurnTree, section: CallSection, closes: Sequence[TemplateLiteral]
) -> tuple[str, ...]:
    """Return the markers of these literals that have no other meaning in a turn."""
    # A text that also begins something else must not be dropped as a stray closer.
    others = [*turn.ends, turn.header, turn.content.open, *turn.content.others]
    others += [] if turn.reasoning is None else [turn.reasoning.open]
    taken = {literal.core for literal in others} | {
        opening.trigger for opening in call_opens(section)
    }
    markers = dict.fromkeys(marker for literal in closes for marker in _markers(literal.core))
    return tuple(
        marker for marker in markers if not any(other.startswith(marker) for other in taken)
    )


def _markers(text: str) -> Iterator[str]:
    """Return the markers of a text, without the text between them."""
    rest = TemplateLiteral.of(text)
    while rest.core:
        if rest.is_marked:
            yield rest.first
        rest = TemplateLiteral.of(rest.core[len(rest.first) :])


class CallEnd(StrEnum):
    """How the reading of a call ended."""

    CLOSED = "closed"
    CUT = "cut"
    """The text ended inside the call."""
    NO_CALL = "no call"
    """The text is not a call, or cannot be read as one."""


class CallSurroundings(Struct, frozen=True):
    """The texts around a call that its reader needs."""

    stops: tuple[str, ...]
    """Texts that may follow a call, e.g. ("<|im_end|>", "<tool_call>")."""
    closers: tuple[str, ...]
    """Markers that close a call and have no other meaning, e.g. ("</function>", "</tool_call>")."""
    ends: tuple[str, ...]
    """Texts that end a turn: of a call that one of them closes, an engine may take it for itself,
    as ``<|call|>``."""
    section_close: TemplateLiteral
    """The closer of all calls, e.g. "</tool_calls>"; empty if nothing encloses them."""
    offered: frozenset[str] | None
    """The offered tools, e.g. {"get_weather"}, or None if any may be called."""
    tentative: bool
    """Whether only the name of an offered tool makes it a call, e.g. True for `{"name":
    "get_weather", …}` alone, since no marker opens it."""
    continuation: AfterArguments
    """Decides whether one of the stops is a stop, e.g. "<|im_end|>" after "}", or text that looks
    like it."""

    def argument_stops(self, closers: Sequence[str]) -> tuple[str, ...]:
        """Return the texts that may follow the arguments of a call with these closers."""
        # A sign that closes a call, such as `)`, is recognized in text by the marker after it.
        close = self.section_close
        signs = closers if close.markers else ()
        ends = (f"{sign}{close.core}" for sign in signs if not is_unit(sign))
        return *closers, *ends, *self.closers, *self.stops

    def last_part(self, word: str) -> str:
        """Return the offered name that a word ends with behind a namespace, or empty.

        It is `ping` in `functions.ping`, `google:mcp:ping`, `functions.ping:0` and `ping/`, a tag
        that closes itself; of a word that is offered as a whole it is empty.
        """
        offered = self.offered or ()
        match = _LAST_PART.search(word)
        return match[1] if match and match[1] in offered and word not in offered else ""


_LAST_PART = lazy_pattern(r"(?:[.:/]|\A(?=[\w-]+/))([\w-]+)(?:[.:#]\d+|/)?\Z")
