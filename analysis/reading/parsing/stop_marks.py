"""What may end free text in a turn, and what each such text means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from autoparser.analysis.core.format import Literal, spaced_spellings
from autoparser.analysis.reading.expression import Section, Turn
from autoparser.analysis.reading.text import Stops

from .call_openings import (
    call_literals,
    call_open,
    call_opens,
    is_marked,
    named_openings,
    named_triggers,
)
from .channel_frame import ChannelFrame


class StopMark(Enum):
    """What a stop in free text means."""

    HEADER = auto()
    REASONING = auto()
    REASONING_CLOSE = auto()
    CONTENT = auto()
    CONTENT_CLOSE = auto()
    CALLS = auto()
    CALLS_CLOSE = auto()
    END = auto()


def reasoning_stops(
    turn: Turn, offered: frozenset[str] | None, *, calls: bool, content: bool
) -> Stops[StopMark]:
    """Return what ends reasoning; with `calls` and `content` also what opens these by a marker."""
    block = turn.reasoning
    if block is None:
        return Stops([])
    stops = [_stop(block.close, StopMark.REASONING_CLOSE)]
    # A header before what opens content belongs to that.
    headers = ("", turn.header.core) if turn.header.is_marked else ("",)
    stops += [
        (literal.before, header + literal.core, StopMark.CONTENT)
        for literal in (turn.content.open, *turn.content.others)
        if content and literal.is_marked and literal.core != block.open.core
        for header in headers
    ]
    stops += [_stop(end, StopMark.END) for end in turn.ends if end.is_marker]
    return Stops(stops + (list(_calls_in_reasoning(turn, offered)) if calls else []))


def calls_in_reasoning(turn: Turn, offered: frozenset[str] | None) -> Stops[StopMark]:
    """Return what opens calls inside reasoning."""
    return Stops(list(_calls_in_reasoning(turn, offered)))


def _calls_in_reasoning(
    turn: Turn, offered: frozenset[str] | None
) -> Iterator[tuple[str, str, StopMark]]:
    section = turn.calls
    if section is None or turn.reasoning is None:
        return
    texts: list[tuple[str, str]] = []
    for literal in call_opens(section):
        if literal.noticed_by_marker:
            texts.append((literal.before, literal.trigger))
        elif literal is section.open and literal.markers:
            texts += [(literal.before, each) for each in spaced_spellings(literal.core)]
    # An opener with words in it means a call together with a name alone.
    before = call_open(section.call).before
    texts += [(before, text) for text in named_openings(section, offered)]
    for space, text in texts:
        # The whitespace that stands before the calls, or that would before the close.
        spaces = (turn.reasoning.close.before, section.space + space)
        yield max(spaces, key=len), text, StopMark.CALLS


def bracketed_marks(turn: Turn, offered: frozenset[str] | None) -> tuple[str, ...]:
    """Return what ends content and begins as an array of JSON does."""
    return tuple(text for _, text, _ in _content_stops(turn, offered) if text.startswith("["))


def content_stops(
    turn: Turn, offered: frozenset[str] | None, frame: ChannelFrame | None = None
) -> Stops[StopMark]:
    """Return what ends content; `offered` are the tools, None: any.

    With a frame the words that lead to a call do so only where a header may stand, and are text in
    content; and its first marker alone opens no call.
    """
    return Stops(list(_content_stops(turn, offered, frame)), turn.tail, StopMark.CALLS)


def broken_call_stops(
    turn: Turn, offered: frozenset[str] | None, closers: Sequence[str]
) -> Stops[StopMark]:
    """Return what ends the rest of a call that broke: what closes calls, or what ends content."""
    closes = [("\n", text, StopMark.CALLS_CLOSE) for text in closers]
    return Stops([*_content_stops(turn, offered), *closes], turn.tail, StopMark.CALLS)


def call_stops(turn: Turn, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the texts in content of which one begins every call."""
    return (text for _, text, mark in _content_stops(turn, offered) if mark is StopMark.CALLS)


def _content_stops(
    turn: Turn, offered: frozenset[str] | None, frame: ChannelFrame | None = None
) -> Iterator[tuple[str, str, StopMark]]:
    for end in turn.ends:
        yield _stop(end, StopMark.END)
    if turn.calls is not None:
        yield from _call_stops(turn, turn.calls, offered, frame)
    if turn.reasoning is not None:
        yield from _spaced(turn.reasoning.open, StopMark.REASONING)
        yield _stop(turn.reasoning.close, StopMark.REASONING_CLOSE)
    yield _stop(turn.content.close, StopMark.CONTENT_CLOSE)
    for literal in (turn.content.open, *turn.content.others):
        yield from _spaced(literal, StopMark.CONTENT)
    if is_tagged(turn.header):
        yield _stop(turn.header, StopMark.HEADER)
    yield from _wordless(turn)


def _call_stops(
    turn: Turn, section: Section, offered: frozenset[str] | None, frame: ChannelFrame | None
) -> Iterator[tuple[str, str, StopMark]]:
    for literal in call_opens(section):
        if frame is not None and literal == frame.lead:
            return
        text = literal.trigger
        taken = (*(end.core for end in turn.ends), "" if frame is None else frame.first)
        if text in taken:
            text = literal.core
        for spelling in spaced_spellings(text):
            yield section.space + literal.before, spelling, StopMark.CALLS
    names = tuple(named_triggers(section, offered))
    for text in names:
        yield section.space, text, StopMark.CALLS
    if not is_marked(section):
        for text in section.leads:
            yield section.space, text, StopMark.CALLS
    if not is_marked(section) and not names:
        yield section.space, "[" if section.open.core.startswith("[") else "{", StopMark.CALLS


def _wordless(turn: Turn) -> Iterator[tuple[str, str, StopMark]]:
    """Return the markers that open a part without its usual word, where nothing shares them.

    Only what closes again is a part of its own: a marker that opens every turn is none.
    """
    blocks = [(turn.content, StopMark.CONTENT)]
    blocks += [(turn.reasoning, StopMark.REASONING)] if turn.reasoning is not None else []
    for block, mark in blocks:
        literal, marker = block.open, block.open.units[0] if block.open.is_marked else ""
        if literal.core != marker and block.close.core and _is_only(turn, marker, literal):
            yield literal.before, marker, mark


def _is_only(turn: Turn, marker: str, literal: Literal) -> bool:
    """Whether nothing else of a turn holds a marker."""
    blocks = [turn.content] + ([turn.reasoning] if turn.reasoning is not None else [])
    texts = [turn.header.core, *(end.core for end in turn.ends)]
    for block in blocks:
        texts += [block.open.core, block.close.core, *(other.core for other in block.others)]
    if turn.calls is not None:
        section = turn.calls
        texts += [section.open.core, section.separator.core, section.close.core]
        texts += (each.core for each in call_literals(section))
    return not any(marker in text for text in texts if text != literal.core)


def is_tagged(header: Literal) -> bool:
    """Whether a header is noticed anywhere in a text, since a part of it would be mere words."""
    return bool(header.markers)


def behind_calls(turn: Turn) -> Iterator[str]:
    """Return the texts that may follow a call."""
    for end in turn.ends:
        yield end.core
    if turn.calls is not None:
        section = turn.calls
        for literal in (*call_opens(section), section.close):
            if literal.noticed_by_marker:
                yield literal.trigger


def _spaced(literal: Literal, mark: StopMark) -> Iterator[tuple[str, str, StopMark]]:
    """Return an opening, whitespace inside it forgiven."""
    return ((literal.before, text, mark) for text in spaced_spellings(literal.core))


def _stop(literal: Literal, mark: StopMark) -> tuple[str, str, StopMark]:
    return literal.before, literal.core, mark
