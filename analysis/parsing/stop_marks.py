"""Make the stop tables of a turn: the texts that may end free text, and the meaning of each.

    turn -> content_stops, reasoning_stops, ... -> StopTable of (whitespace, text, StopMark)

Calls are found by the texts that begin them: markers, or an offered name with the text around it.
A `ChannelFrame` describes openings that differ only in the words between two markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto

from msgspec import Struct

from autoparser.analysis.core.text_alignment import TemplateLiteral, spaced_spellings
from autoparser.analysis.core.text_format import TurnPart

from .text_lookahead import StopTable, at_text
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import (
    ArgumentList,
    CallSection,
    FunctionName,
    JsonCall,
    RowCall,
    RowItem,
    TurnTree,
)

# Repeated openings.


def skip_again(tape: TextTape, literal: TemplateLiteral) -> Reading[str]:
    """Take and return all repetitions of the last marker of a literal just read.

    `<|role|>assistant<|text|>` may be followed by a second `<|text|>`.
    """
    last = literal.markers[-1] if literal.markers else ""
    taken = ""
    while last and literal.core.endswith(last) and (yield from at_text(tape, last)):
        taken += tape.take(len(last), SpanKind.MARKUP)
    return taken


# Channels: openings that differ only in their words.


LONGEST_HEADER = 160
"""Most characters of a header with its markers; a longer text is not a header."""


class ChannelFrame(Struct, frozen=True):
    """Two markers and the words that a template writes between them.

    `<|channel|>analysis<|message|>` and `<|channel|>final<|message|>` give the markers
    `<|channel|>` and `<|message|>`, and the words `analysis` and `final`.
    """

    first: str
    last: str
    opened: Mapping[str, TurnPart]
    """The part that the words open, except those of calls."""
    lead: TemplateLiteral | None = None
    """The text before a call's name that is read in place of a header, not in content.

    It is words, such as ` to=` before `get_weather`, or words after the first marker if every block
    has a header. None if calls begin otherwise.
    """

    def means(self, opening: str) -> TurnPart:
        """Return the part that an opening opens, by the longest known words that begin its words.

        Unknown words open content.
        """
        words = opening.removeprefix(self.first).removesuffix(self.last).strip()
        known = [each for each in self.opened if re.match(rf"{re.escape(each)}(?!\w)", words)]
        return self.opened[max(known, key=len)] if known else TurnPart.CONTENT


def frame_of(turn: TurnTree) -> ChannelFrame | None:
    """Return the frame of a turn's openings, or None if no two share their markers."""
    frames: dict[tuple[str, ...], dict[str, TurnPart]] = {}
    for literal, part in _openings(turn):
        core, markers = literal.core, literal.markers
        if len(markers) != _MARKERS or markers[0] == markers[1]:
            continue
        first, last = markers
        if core.startswith(first) and core.endswith(last):
            words = core[len(first) : len(core) - len(last)].strip()
            frames.setdefault(markers, {}).setdefault(words, part)
    for markers, parts in frames.items():
        opened = {words: part for words, part in parts.items() if part is not TurnPart.CALLS}
        if len(parts) > 1 and opened:
            return ChannelFrame(markers[0], markers[1], opened, _lead(turn, markers[0]))
    return None


_MARKERS = 2


def _openings(turn: TurnTree) -> Iterator[tuple[TemplateLiteral, TurnPart]]:
    if turn.reasoning is not None:
        yield turn.reasoning.open, TurnPart.REASONING
    for literal in (turn.content.open, *turn.content.others):
        yield literal, TurnPart.CONTENT
    if turn.calls is not None:
        yield turn.calls.open, TurnPart.CALLS
        if isinstance(turn.calls.call, RowCall):
            for item in turn.calls.call.row:
                if isinstance(item, ArgumentList):
                    break
                if isinstance(item, TemplateLiteral):
                    yield item, TurnPart.CALLS


def recipient_pattern(turn: TurnTree) -> re.Pattern[str] | None:
    """Return the pattern of the word before a tool's name and of the name, group 1, or None.

    With `<|channel|>work to=` before names the word is `to=`. None if there is no such word.
    """
    lead = _before_name(turn)
    words = "" if lead is None else lead.core
    for marker in () if lead is None else lead.markers:
        words = words.rpartition(marker)[2]
    if not any(map(str.isalnum, words)):
        return None
    names = sorted(turn.offered or (), key=len, reverse=True)
    word, sign, space = words.split()[-1].rpartition("=")
    ways = [r"[\w.-]+"] if turn.offered is None else [*map(re.escape, names)]
    if turn.offered is not None and space and not space[-1].isalnum():
        # Behind a namespace such as `functions.` a tool that was not offered is called, too.
        ways.append(rf"(?<={re.escape(space)})[\w.-]+")
    # The namespace of `to=functions.` may be missing before an offered tool.
    optional = rf"(?:{re.escape(space)})?" if sign and names else re.escape(space)
    name = "|".join(ways)
    return re.compile(rf"(?<!\w){re.escape(word + sign)}{optional}\s*({name})(?![\w-])")


def _lead(turn: TurnTree, first: str) -> TemplateLiteral | None:
    lead = _before_name(turn)
    if lead is None or not lead.mark:
        return None
    headed = turn.goes_on and lead.markers == (first,) and lead.core.startswith(first)
    return lead if headed or not lead.markers else None


def _before_name(turn: TurnTree) -> TemplateLiteral | None:
    """Return the literal that begins a call if the name comes next, or None."""
    call = None if turn.calls is None else turn.calls.call
    if not isinstance(call, RowCall) or not isinstance(call.row[1], FunctionName):
        return None
    return call.row[0] if isinstance(call.row[0], TemplateLiteral) else None


# The texts that begin calls, by which a reader finds them.


def call_open(call: RowCall | JsonCall) -> TemplateLiteral:
    """Return the literal that opens one call."""
    if isinstance(call, JsonCall):
        return call.before
    first = call.row[0]
    return first if isinstance(first, TemplateLiteral) else TemplateLiteral()


def call_literals(section: CallSection) -> Iterator[TemplateLiteral]:
    """Return the literals that one call is written with."""
    call = section.call
    if isinstance(call, JsonCall):
        yield from (call.before, call.after)
    else:
        yield from (item for item in call.row if isinstance(item, TemplateLiteral))


def call_opens(section: CallSection) -> Iterator[TemplateLiteral]:
    """Return the literals that may open calls: the section's, and one call's if that is missing."""
    for literal in (section.open, call_open(section.call)):
        if literal.is_marked or literal.mark:
            yield literal


def named_triggers(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the texts that begin a call by its name: the name and the text right around it.

    If markers open calls, it is the rest of an opening whose first marker is missing.
    """
    call = section.call
    if isinstance(call, JsonCall):
        return
    at = next((at for at, item in enumerate(call.row[:2]) if isinstance(item, FunctionName)), -1)
    if at < 0 or at + 1 >= len(call.row):
        return
    first = call.row[0] if isinstance(call.row[0], TemplateLiteral) else TemplateLiteral()
    befores = [f"{section.open.core}{first.core}"]
    if is_marked(section):
        befores = [*first.units[-1:]] if at and len(first.units) > 1 else []
        if not any(char.isalnum() for before in befores for char in before):
            return
    elif first.core:
        # As written, and without the whitespace.
        befores.append(f"{section.open.text.lstrip()}{first.before}{first.core}{first.after}")
    behind = [_begin(call.row[at + 1])]
    if call.empty_row is not None and isinstance(call.empty_row[-1], TemplateLiteral):
        behind.append(_begin(call.empty_row[-1]))
    for name in sorted(offered or ()):
        for before in befores:
            yield from (f"{before}{name}{text}" for texts in behind for text in texts)


def named_openings(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the markers that open one call, or the end of them, each with an offered name."""
    call = section.call
    first = call_open(call)
    if isinstance(call, JsonCall) or not first.markers or not isinstance(call.row[1], FunctionName):
        return
    for name in sorted(offered or ()):
        yield f"{first.core}{name}"
    yield from named_triggers(section, offered)


def listed_calls(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the separators of a list with the beginning of the next call of an offered tool.

    Empty if each call has an opener, or if there is no separator.
    """
    call, separator = section.call, section.separator
    if not separator.core or call_open(call).core:
        return
    for name in sorted(offered or ()):
        if isinstance(call, RowCall):
            texts = {f"{name}{text}" for text in _begin(call.row[1])}
        elif call.name_is_key:
            texts = {f'{{"{name}":'}
        else:
            texts = {f'{{"{call.name_field}":{space}"{name}"' for space in ("", " ")}
        for space in dict.fromkeys((separator.after, "", " ", "\n")):
            yield from (f"{separator.core}{space}{text}" for text in sorted(texts))


def _begin(item: RowItem) -> tuple[str, ...]:
    """Return the texts that may follow a name: without the whitespace, and as written."""
    if not isinstance(item, TemplateLiteral):
        return ("",)
    if not item.units:
        return (item.text,)
    return (item.units[0], f"{item.before}{item.units[0]}")


def is_marked(section: CallSection) -> bool:
    """Return whether calls are opened by a text that content does not contain."""
    return any(True for _ in call_opens(section))


class StopMark(Enum):
    """The meaning of a stop in free text."""

    HEADER = auto()
    REASONING = auto()
    REASONING_CLOSE = auto()
    CONTENT = auto()
    CONTENT_CLOSE = auto()
    CALLS = auto()
    CALLS_CLOSE = auto()
    END = auto()


def reasoning_stops(turn: TurnTree, *, calls: bool, content: bool) -> StopTable[StopMark]:
    """Return the stops of reasoning; with `calls` and `content` also markers that open these."""
    block = turn.reasoning
    if block is None:
        return StopTable([])
    stops = [_stop(block.close, StopMark.REASONING_CLOSE)]
    # A header before the opening of content belongs to it.
    headers = ("", turn.header.core) if turn.header.is_marked else ("",)
    stops += [
        (literal.before, header + literal.core, StopMark.CONTENT)
        for literal in (turn.content.open, *turn.content.others)
        if content and literal.is_marked and literal.core != block.open.core
        for header in headers
    ]
    stops += [_stop(end, StopMark.END) for end in turn.ends if end.is_marker]
    return StopTable([*stops, *(calls_in_reasoning(turn) if calls else ())])


def calls_in_reasoning(turn: TurnTree) -> Iterator[tuple[str, str, StopMark]]:
    """Return the stops that open calls inside reasoning."""
    section = turn.calls
    if section is None or turn.reasoning is None:
        return
    texts: list[tuple[str, str]] = []
    for literal in call_opens(section):
        if literal.noticed_by_marker:
            texts.append((literal.before, literal.trigger))
        elif literal is section.open and literal.markers:
            texts += [(literal.before, each) for each in spaced_spellings(literal.core)]
    # An opener with words in it means a call only together with a name.
    before = call_open(section.call).before
    texts += [(before, text) for text in named_openings(section, turn.offered)]
    for space, text in texts:
        # The whitespace before the calls, or before the closer of reasoning if that is longer.
        spaces = (turn.reasoning.close.before, section.space + space)
        yield max(spaces, key=len), text, StopMark.CALLS


def bracketed_marks(turn: TurnTree) -> tuple[str, ...]:
    """Return the stops of content that begin like a JSON array."""
    return tuple(text for _, text, _ in _content_stops(turn) if text.startswith("["))


def content_stops(turn: TurnTree, frame: ChannelFrame | None = None) -> StopTable[StopMark]:
    """Return the stops of content.

    With a frame, the words that lead to a call do so only in place of a header and are text in
    content, and its first marker alone does not open a call.
    """
    return StopTable(list(_content_stops(turn, frame)), turn.tail, StopMark.CALLS)


def broken_call_stops(turn: TurnTree, closers: Sequence[str]) -> StopTable[StopMark]:
    """Return the stops of the rest of a broken call: closers of calls, and stops of content."""
    closes = [("\n", text, StopMark.CALLS_CLOSE) for text in closers]
    return StopTable([*_content_stops(turn), *closes], turn.tail, StopMark.CALLS)


def call_stops(turn: TurnTree) -> Iterator[str]:
    """Return the stops of content that begin calls; every call begins with one of them."""
    return (text for _, text, mark in _content_stops(turn) if mark is StopMark.CALLS)


def _content_stops(
    turn: TurnTree, frame: ChannelFrame | None = None
) -> Iterator[tuple[str, str, StopMark]]:
    for end in turn.ends:
        yield _stop(end, StopMark.END)
    if turn.calls is not None:
        yield from _call_stops(turn, turn.calls, frame)
    if turn.reasoning is not None:
        yield from _spellings(turn.reasoning.open, StopMark.REASONING)
        yield _stop(turn.reasoning.close, StopMark.REASONING_CLOSE)
    yield _stop(turn.content.close, StopMark.CONTENT_CLOSE)
    for literal in (turn.content.open, *turn.content.others):
        yield from _spellings(literal, StopMark.CONTENT)
    if turn.header.markers:
        # A header of mere words cannot be found in text.
        yield _stop(turn.header, StopMark.HEADER)
    yield from _markers_without_word(turn)


def _call_stops(
    turn: TurnTree, section: CallSection, frame: ChannelFrame | None
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
    names = tuple(named_triggers(section, turn.offered))
    for text in names:
        yield section.space, text, StopMark.CALLS
    if not is_marked(section):
        for text in section.leads:
            yield section.space, text, StopMark.CALLS
    if not is_marked(section) and not names:
        yield section.space, "[" if section.open.core.startswith("[") else "{", StopMark.CALLS


def _markers_without_word(turn: TurnTree) -> Iterator[tuple[str, str, StopMark]]:
    """Return the markers that open a part without its usual word, if no other text has them.

    Only a part with a closer counts: a marker that opens every turn does not open a part.
    """
    blocks = [(turn.content, StopMark.CONTENT)]
    blocks += [(turn.reasoning, StopMark.REASONING)] if turn.reasoning is not None else []
    for block, mark in blocks:
        literal, marker = block.open, block.open.units[0] if block.open.is_marked else ""
        if literal.core != marker and block.close.core and _is_only(turn, marker, literal):
            yield literal.before, marker, mark


def _is_only(turn: TurnTree, marker: str, literal: TemplateLiteral) -> bool:
    """Return whether no other text of a turn contains a marker."""
    blocks = [turn.content] + ([turn.reasoning] if turn.reasoning is not None else [])
    texts = [turn.header.core, *(end.core for end in turn.ends)]
    for block in blocks:
        texts += [block.open.core, block.close.core, *(other.core for other in block.others)]
    if turn.calls is not None:
        section = turn.calls
        texts += [section.open.core, section.separator.core, section.close.core]
        texts += (each.core for each in call_literals(section))
    return not any(marker in text for text in texts if text != literal.core)


def behind_calls(turn: TurnTree) -> Iterator[str]:
    """Return the texts that may follow a call."""
    for end in turn.ends:
        yield end.core
    if turn.calls is not None:
        section = turn.calls
        for literal in (*call_opens(section), section.close):
            if literal.noticed_by_marker:
                yield literal.trigger


def _spellings(literal: TemplateLiteral, mark: StopMark) -> Iterator[tuple[str, str, StopMark]]:
    """Return the spellings of an opening with other whitespace inside it."""
    return ((literal.before, text, mark) for text in spaced_spellings(literal.core))


def _stop(literal: TemplateLiteral, mark: StopMark) -> tuple[str, str, StopMark]:
    return literal.before, literal.core, mark
