"""What may end free text in a turn, and what each such text means."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from autoparser.analysis.expression import Section, Turn
from autoparser.analysis.format import Literal
from autoparser.analysis.reading import Stops

from .triggers import call_opens, is_marked, named_triggers


class Mark(Enum):
    """What a stop in free text means."""

    HEADER = auto()
    REASONING = auto()
    REASONING_CLOSE = auto()
    CONTENT = auto()
    CONTENT_CLOSE = auto()
    CALLS = auto()
    END = auto()


def reasoning_stops(turn: Turn) -> Stops[Mark]:
    """Give what ends reasoning."""
    if turn.reasoning is None:
        return Stops([])
    ends = (_stop(end, Mark.END) for end in turn.ends if end.is_marker)
    return Stops([_stop(turn.reasoning.close, Mark.REASONING_CLOSE), *ends])


def bracketed_marks(turn: Turn, offered: frozenset[str] | None) -> tuple[str, ...]:
    """Give what ends content and begins as an array of JSON does."""
    return tuple(text for _, text, _ in _content_stops(turn, offered) if text.startswith("["))


def call_stops(turn: Turn, offered: frozenset[str] | None) -> Iterator[str]:
    """Give the texts in content of which one begins every call."""
    return (text for _, text, mark in _content_stops(turn, offered) if mark is Mark.CALLS)


def content_stops(turn: Turn, offered: frozenset[str] | None) -> Stops[Mark]:
    """Give what ends content; `offered` are the tools, None: any."""
    return Stops(list(_content_stops(turn, offered)), turn.tail)


def _content_stops(turn: Turn, offered: frozenset[str] | None) -> Iterator[tuple[str, str, Mark]]:
    for end in turn.ends:
        yield _stop(end, Mark.END)
    if turn.calls is not None:
        yield from _call_stops(turn, turn.calls, offered)
    if turn.reasoning is not None:
        yield _stop(turn.reasoning.open, Mark.REASONING)
        yield _stop(turn.reasoning.close, Mark.REASONING_CLOSE)
    yield _stop(turn.content.close, Mark.CONTENT_CLOSE)
    for literal in (turn.content.open, *turn.content.others):
        yield _stop(literal, Mark.CONTENT)
    if is_tagged(turn.header):
        yield _stop(turn.header, Mark.HEADER)


def _call_stops(
    turn: Turn, section: Section, offered: frozenset[str] | None
) -> Iterator[tuple[str, str, Mark]]:
    space = section.space
    for literal in call_opens(section):
        text = literal.trigger
        if any(text == end.core for end in turn.ends):
            text = literal.core
        yield space + literal.before, text, Mark.CALLS
    names = tuple(named_triggers(section, offered))
    for text in names:
        yield space, text, Mark.CALLS
    if not is_marked(section):
        for text in section.leads:
            yield space, text, Mark.CALLS
    if not is_marked(section) and not names:
        yield space, "[" if section.open.core.startswith("[") else "{", Mark.CALLS


def is_tagged(header: Literal) -> bool:
    """Whether a header is noticed anywhere in a text, since a part of it is no mere words."""
    return bool(header.markers)


def behind_calls(turn: Turn) -> Iterator[str]:
    """Give the texts that may follow a call."""
    for end in turn.ends:
        yield end.core
    if turn.calls is not None:
        section = turn.calls
        for literal in (*call_opens(section), section.close):
            if literal.noticed_by_marker:
                yield literal.trigger


def _stop(literal: Literal, mark: Mark) -> tuple[str, str, Mark]:
    return literal.before, literal.core, mark
