r"""Cut the rows of a turn where a prompt has stopped inside the message.

    …assistant\n<think>\nHm.\n</think>\n\nSure    ->  CONTENT «\n» CALLS  |  CONTENT
    …assistant\n<think>\nHm.                      ->  REASONING «\n</think>\n\n» CONTENT …

The parser reads the message that the prompt has begun, and its answer decides: the part that is
open, or the markup after the last part. Each row is cut there. In an open part, the rest may be
empty. If a tool call or a marker is not complete, no row is left, and the turn has the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.turn_parts import EdgeStrip, TurnPart
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_nodes import (
    PartBody,
    StrictItem,
    StrictRow,
    StrictTurn,
    TurnStart,
    TurnTree,
)
from autoparser.analysis.parsing.turn_request import IdentityCache

from .free_rows import free_rows


class _PromptStop(Struct, frozen=True):
    """Where in the message a prompt has stopped."""

    part: TurnPart | None = None
    """The last part with text, e.g. `TurnPart.REASONING` in "<think>Hm.", or None before any."""
    markup: str = ""
    r"""The markup after it, e.g. "\n</think>"; empty if the part is open."""
    space: str = ""
    r"""The whitespace at the end of the prompt, e.g. "\n"."""
    stopped: str = ""
    """Why nothing can be written here, e.g. "the prompt ends inside a tool call"."""


_CUT: IdentityCache[StrictTurn] = IdentityCache(256)
_IN_CALL = "the prompt ends inside or after a tool call"
_PARTS = {SpanKind.REASONING: TurnPart.REASONING, SpanKind.CONTENT: TurnPart.CONTENT}


def turn_after_prompt(turn: TurnTree) -> TurnTree:
    """Return the turn with its rows from where the prompt has stopped inside the message."""
    if not turn.continues:
        return turn
    place = _place_in(turn)
    # Prompts are as many as chats, but the places where they stop are few.
    parts = (turn.strict, turn.content, turn.header, turn.reasoning)
    strict = _CUT.of(parts, place, lambda: _rows_from(turn, place))
    return replace(turn, strict=strict, continues=False)


def _place_in(turn: TurnTree) -> _PromptStop:
    """Return where the message that the prompt has begun stops, as the parser reads it."""
    text = turn.prefill
    parser = OutputParser(replace(turn, prefill=""))
    stream = parser.stream()
    stream.feed(text)
    part, markup, read = None, "", 0
    for start, read, kind in stream.message.spans:
        if kind in _PARTS and text[start:read].strip():
            part, markup = _PARTS[kind], ""
        elif kind in (SpanKind.MARKUP, *_PARTS):
            markup += text[start:read]
        elif kind is not SpanKind.JUNK:
            return _PromptStop(stopped=_IN_CALL)
        elif text[start:read].strip():
            return _PromptStop(stopped="the prompt has text that belongs to no part of a message")
    held = text[read:].strip()
    # The parser waits here: more text would decide whether a marker or a call has begun.
    if held:
        return _PromptStop(stopped=f"the prompt may end inside a marker or a tool call: {held!r}")
    if part is TurnPart.REASONING and _may_be_content(turn) and parser.may_hold_call(text):
        return _PromptStop(stopped=_IN_CALL)
    if turn.json and part is TurnPart.CONTENT:
        return _PromptStop(stopped="the prompt has begun the JSON of the answer")
    return _PromptStop(part, markup.strip(), text[len(text.rstrip()) :])


def _may_be_content(turn: TurnTree) -> bool:
    """Return whether nothing opens reasoning: a text may be reasoning until it is closed."""
    return turn.reasoning is not None and not turn.reasoning.open.core


def _rows_from(turn: TurnTree, place: _PromptStop) -> StrictTurn:
    """Return the rows of a turn from a place on."""
    whole = replace(turn, prefill="", continues=False)
    rows, free = (
        tuple(
            dict.fromkeys(
                StrictRow(tuple(filter(None, items)), row.end)
                for row in every
                for items in _rests_of_row(turn, row, place)
            )
        )
        # Widened as a whole: after a text, a row of calls alone would be lost.
        for every in (turn.strict.rows, () if place.stopped else free_rows(whole, parallel=True))
    )
    stopped = place.stopped
    if not free:
        stopped = stopped or "the template writes no answer that the request allows after this text"
    # The template may write no such message, e.g. no text before calls: the parser reads it.
    return StrictTurn(rows or free, turn.strict.calls, free, _start_of(turn, place), stopped)


def _start_of(turn: TurnTree, place: _PromptStop) -> TurnStart:
    if place.part is TurnPart.REASONING and not place.markup:
        return TurnStart.REASONING
    reasoning = turn.reasoning
    closed = reasoning is not None and reasoning.close.core and reasoning.close.core in place.markup
    return TurnStart.CONTENT if place.part is not None or closed else turn.start


def _rests_of_row(
    turn: TurnTree, row: StrictRow, place: _PromptStop
) -> Iterator[tuple[StrictItem, ...]]:
    """Return the rests of a row from a place on."""
    either = place.part is TurnPart.REASONING and not place.markup and _may_be_content(turn)
    parts = {place.part, TurnPart.CONTENT} if either else {place.part}
    for at, item in enumerate(row.items):
        behind = row.items[at + 1 :]
        if isinstance(item, PartBody) and item.part is TurnPart.CALLS:
            # The prompt has written none.
            break
        if place.part is None:
            header = turn.header.core
            if isinstance(item, str) and header and header in item:
                # The message may have several headers, and the prompt is read from the last one.
                yield from _after_markup((item.rpartition(header)[2], *behind), place)
        elif isinstance(item, PartBody) and item.part in parts:
            if place.markup:
                yield from _after_markup(behind, place)
                break
            edges = replace(item.edges, left=EdgeStrip.NOTHING)
            yield replace(item, edges=edges, begun=True), *behind
            if _without_space(behind, place.space) != behind:
                yield _without_space(behind, place.space)
            break
    if place.part is None:
        yield from _after_markup(row.items, place)


def _after_markup(
    items: tuple[StrictItem, ...], place: _PromptStop
) -> Iterator[tuple[StrictItem, ...]]:
    """Return the rests of items after markup, whose whitespace may differ."""
    markup = place.markup
    while markup:
        if not items or (isinstance(items[0], PartBody) and items[0].part is TurnPart.CALLS):
            return
        first, items = items[0], items[1:]
        if isinstance(first, str):
            rest = _rest_of_literal(first, markup)
            if rest is None:
                return
            literal, markup = rest
            items = (literal, *items) if literal else items
    yield _without_space(items, place.space)


def _rest_of_literal(literal: str, markup: str) -> tuple[str, str] | None:
    """Return the rests of both after the characters in common, whitespace aside.

    None if they differ before one of them ends.
    """
    at = 0
    for index, char in enumerate(literal):
        if at == len(markup):
            return literal[index:], ""
        if char.isspace():
            continue
        if char != markup[at]:
            return None
        at += 1
        at = len(markup) - len(markup[at:].lstrip())
    return "", markup[at:]


def _without_space(items: tuple[StrictItem, ...], space: str) -> tuple[StrictItem, ...]:
    """Return items without the whitespace at their beginning that the prompt has written."""
    first = items[0] if items else None
    if not isinstance(first, str):
        return items
    lead = first[: len(first) - len(first.lstrip())]
    sizes = range(min(len(lead), len(space)), 0, -1)
    size = next((size for size in sizes if space.endswith(lead[:size])), 0)
    return (first[size:], *items[1:]) if first[size:] else items[1:]
