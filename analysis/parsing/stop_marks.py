"""What may end free text in a turn, and what each such text means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from autoparser.analysis.core.literals import TemplateLiteral, spaced_spellings
from autoparser.analysis.core.text_format import TurnPart

from .entry_openings import at_text
from .text_lookahead import StopTable
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

# Openings that a model writes twice.


def skip_again(tape: TextTape, literal: TemplateLiteral) -> Reading[str]:
    """Take the last marker of what has just opened, as often as it is there again; return all.

    `<|role|>assistant<|text|>` may be followed by a second `<|text|>`.
    """
    last = literal.markers[-1] if literal.markers else ""
    taken = ""
    while last and literal.core.endswith(last) and (yield from at_text(tape, last)):
        taken += tape.take(len(last), SpanKind.MARKUP)
    return taken


# Openings that differ in their words alone: what a turn's channels look like.


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
    opened: Mapping[str, TurnPart]
    """What the words open, but for those of calls."""
    lead: TemplateLiteral | None = None
    """What stands before a call's name and is read where a header may stand, not in content.

    It is words, as ` to=` before `get_weather`, or words after the first marker where every block
    has a header. None where calls begin otherwise.
    """

    def means(self, opening: str) -> TurnPart:
        """Say what an opening opens: what the longest known words do that its words begin with.

        Unknown ones open content.
        """
        words = opening.removeprefix(self.first).removesuffix(self.last).strip()
        known = [each for each in self.opened if re.match(rf"{re.escape(each)}(?!\w)", words)]
        return self.opened[max(known, key=len)] if known else TurnPart.CONTENT


def frame_of(turn: TurnTree) -> ChannelFrame | None:
    """Find the frame of a turn's openings; None where no two of them share their markers."""
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


def recipient_pattern(turn: TurnTree, offered: frozenset[str] | None) -> re.Pattern[str] | None:
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


def _lead(turn: TurnTree, first: str) -> TemplateLiteral | None:
    lead = _before_name(turn)
    if lead is None or not lead.mark:
        return None
    headed = turn.goes_on and lead.markers == (first,) and lead.core.startswith(first)
    return lead if headed or not lead.markers else None


def _before_name(turn: TurnTree) -> TemplateLiteral | None:
    """Return what a call begins with, where its name comes next."""
    call = None if turn.calls is None else turn.calls.call
    if not isinstance(call, RowCall) or not isinstance(call.row[1], FunctionName):
        return None
    return call.row[0] if isinstance(call.row[0], TemplateLiteral) else None


# What begins calls: the texts by which a reader notices them.


def call_open(call: RowCall | JsonCall) -> TemplateLiteral:
    """Return what opens one call."""
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
    """Give the literals that may open calls: the section's, or one call's where that is missing."""
    for literal in (section.open, call_open(section.call)):
        if literal.is_marked or literal.mark:
            yield literal


def named_triggers(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what begins a call by its name: the name and what stands right around it.

    Where markers open a call, it is the rest of its opening whose first marker was forgotten.
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
        # As it is written, and without the whitespace.
        befores.append(f"{section.open.text.lstrip()}{first.before}{first.core}{first.after}")
    behind = [_begin(call.row[at + 1])]
    if call.empty_row is not None and isinstance(call.empty_row[-1], TemplateLiteral):
        behind.append(_begin(call.empty_row[-1]))
    for name in sorted(offered or ()):
        for before in befores:
            yield from (f"{before}{name}{text}" for texts in behind for text in texts)


def named_openings(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what opens one call by markers, with the names behind it: all of it, or its end."""
    call = section.call
    first = call_open(call)
    if isinstance(call, JsonCall) or not first.markers or not isinstance(call.row[1], FunctionName):
        return
    for name in sorted(offered or ()):
        yield f"{first.core}{name}"
    yield from named_triggers(section, offered)


def listed_calls(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what separates two calls of a list and begins the next one, of an offered tool.

    Nothing where a marker opens each call, or nothing separates two.
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
    """Return what may stand right after a name: as it is written, and without the whitespace."""
    if not isinstance(item, TemplateLiteral):
        return ("",)
    if not item.units:
        return (item.text,)
    return (item.units[0], f"{item.before}{item.units[0]}")


def is_marked(section: CallSection) -> bool:
    """Whether calls are opened by something that content does not hold."""
    return any(True for _ in call_opens(section))


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
    turn: TurnTree, offered: frozenset[str] | None, *, calls: bool, content: bool
) -> StopTable[StopMark]:
    """Return what ends reasoning; with `calls` and `content` also what opens these by a marker."""
    block = turn.reasoning
    if block is None:
        return StopTable([])
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
    return StopTable(stops + (list(_calls_in_reasoning(turn, offered)) if calls else []))


def calls_in_reasoning(turn: TurnTree, offered: frozenset[str] | None) -> StopTable[StopMark]:
    """Return what opens calls inside reasoning."""
    return StopTable(list(_calls_in_reasoning(turn, offered)))


def _calls_in_reasoning(
    turn: TurnTree, offered: frozenset[str] | None
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


def bracketed_marks(turn: TurnTree, offered: frozenset[str] | None) -> tuple[str, ...]:
    """Return what ends content and begins as an array of JSON does."""
    return tuple(text for _, text, _ in _content_stops(turn, offered) if text.startswith("["))


def content_stops(
    turn: TurnTree, offered: frozenset[str] | None, frame: ChannelFrame | None = None
) -> StopTable[StopMark]:
    """Return what ends content; `offered` are the tools, None: any.

    With a frame the words that lead to a call do so only where a header may stand, and are text in
    content; and its first marker alone opens no call.
    """
    return StopTable(list(_content_stops(turn, offered, frame)), turn.tail, StopMark.CALLS)


def broken_call_stops(
    turn: TurnTree, offered: frozenset[str] | None, closers: Sequence[str]
) -> StopTable[StopMark]:
    """Return what ends the rest of a call that broke: what closes calls, or what ends content."""
    closes = [("\n", text, StopMark.CALLS_CLOSE) for text in closers]
    return StopTable([*_content_stops(turn, offered), *closes], turn.tail, StopMark.CALLS)


def call_stops(turn: TurnTree, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the texts in content of which one begins every call."""
    return (text for _, text, mark in _content_stops(turn, offered) if mark is StopMark.CALLS)


def _content_stops(
    turn: TurnTree, offered: frozenset[str] | None, frame: ChannelFrame | None = None
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
    turn: TurnTree, section: CallSection, offered: frozenset[str] | None, frame: ChannelFrame | None
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


def _wordless(turn: TurnTree) -> Iterator[tuple[str, str, StopMark]]:
    """Return the markers that open a part without its usual word, where nothing shares them.

    Only what closes again is a part of its own: a marker that opens every turn is none.
    """
    blocks = [(turn.content, StopMark.CONTENT)]
    blocks += [(turn.reasoning, StopMark.REASONING)] if turn.reasoning is not None else []
    for block, mark in blocks:
        literal, marker = block.open, block.open.units[0] if block.open.is_marked else ""
        if literal.core != marker and block.close.core and _is_only(turn, marker, literal):
            yield literal.before, marker, mark


def _is_only(turn: TurnTree, marker: str, literal: TemplateLiteral) -> bool:
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


def is_tagged(header: TemplateLiteral) -> bool:
    """Whether a header is noticed anywhere in a text, since a part of it would be mere words."""
    return bool(header.markers)


def behind_calls(turn: TurnTree) -> Iterator[str]:
    """Return the texts that may follow a call."""
    for end in turn.ends:
        yield end.core
    if turn.calls is not None:
        section = turn.calls
        for literal in (*call_opens(section), section.close):
            if literal.noticed_by_marker:
                yield literal.trigger


def _spaced(literal: TemplateLiteral, mark: StopMark) -> Iterator[tuple[str, str, StopMark]]:
    """Return an opening, whitespace inside it forgiven."""
    return ((literal.before, text, mark) for text in spaced_spellings(literal.core))


def _stop(literal: TemplateLiteral, mark: StopMark) -> tuple[str, str, StopMark]:
    return literal.before, literal.core, mark
