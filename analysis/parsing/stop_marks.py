"""Make the stop tables of a turn: the texts that may end free text, and the meaning of each.

    turn -> content_stops, reasoning_stops, ... -> StopTable of (whitespace, text, StopMark)

Calls are found by the texts that begin them: markers, or an offered name with the text around it.
A `ChannelFrame` describes openings that differ only in the words between two markers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.text_alignment import (
    MarkerBlock,
    TemplateLiteral,
    edge_units,
    is_unit,
    spaced_spellings,
)
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.lazy_names import lazy_pattern

from .text_lookahead import MarkupJoints, NamedStop, StopTable, ToolNames, at_text
from .text_tape import Reading, SpanKind, TextTape
from .turn_nodes import (
    ArgumentList,
    CallSection,
    FunctionName,
    JsonCall,
    RowCall,
    RowItem,
    TurnTree,
)
from .turn_request import IdentityCache

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
    """The marker before the words, such as `"<|channel|>"`."""
    last: str
    """The marker after the words, such as `"<|message|>"`."""
    opened: Mapping[str, TurnPart]
    """The part that the words open, e.g. `TurnPart.REASONING` for "analysis"; the words of calls
    are in `called`."""
    called: tuple[str, ...] = ()
    """The channels of calls, such as `commentary`."""
    lead: TemplateLiteral | None = None
    """The text before a call's name that is read in place of a header, not in content.

    It is words, such as ` to=` before `get_weather`, or words after the first marker if every block
    has a header. None if calls begin otherwise.
    """

    def is_known(self, opening: str, part: TurnPart) -> bool:
        """Return whether the words of an opening are those with which the template opens a part."""
        words = opening.rpartition(self.first)[2].removesuffix(self.last).split()
        known = (other.split() for other, opened in self.opened.items() if opened is part)
        # The first words alone: others may follow, as in `commentary to=functions.f`.
        return any(words[:1] == other[:1] for other in known)

    def means(self, opening: str) -> TurnPart:
        """Return the part that an opening opens, by the longest known words that begin its words.

        Unknown words open content.
        """
        words = opening.removeprefix(self.first).removesuffix(self.last).strip()
        # "final" begins the words "final json", but not "finally".
        known = [word for word in self.opened if re.match(rf"{re.escape(word)}(?!\w)", words)]
        return self.opened[max(known, key=len)] if known else TurnPart.CONTENT


def channel_frame(turn: TurnTree) -> ChannelFrame | None:
    """Return the frame of a turn's openings, or None if no two share their markers."""
    nodes = (*fixed_nodes(turn), turn.calls)
    return _FRAMES.of(nodes, turn.goes_on, lambda: _frame_of(turn))


_FRAMES: IdentityCache[ChannelFrame | None] = IdentityCache(128)


def _frame_of(turn: TurnTree) -> ChannelFrame | None:
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
        # With one opening alone, nothing shows that the words between its markers vary.
        if len(parts) > 1 and opened:
            called = (words.split()[0] for words in parts if words and words not in opened)
            channels = tuple(dict.fromkeys(called))
            return ChannelFrame(markers[0], markers[1], opened, channels, _lead(turn, markers[0]))
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
                # Literals behind the arguments close a call, and open no part.
                if isinstance(item, ArgumentList):
                    break
                if isinstance(item, TemplateLiteral):
                    yield item, TurnPart.CALLS


class FoundName(Struct, frozen=True):
    """A tool's name in a header."""

    start: int
    """The offset of the name, e.g. 33."""
    end: int
    """The offset after the name, e.g. 40."""


_NAME_SIGN = lazy_pattern(r"[\w-]")
_ANY_NAME = lazy_pattern(r"[\w.-]+(?![\w-])")


class RecipientSearch:
    """Searches a header for a word before a tool's name, such as `to=`, and the name."""

    def __init__(self, word: str, space: str, names: ToolNames | None) -> None:
        """Compile the word and the namespace after it; `names` is None if any may be called."""
        # `functions.` in `to=functions.` may be missing before an offered tool.
        namespace = re.escape(space)
        if names is not None and names.names and word.endswith("="):
            namespace = f"(?P<space>{namespace})?" if space else ""
        name = rf"(?P<name>{_ANY_NAME.pattern})" if names is None else ""
        self._pattern = re.compile(rf"(?<!\w){re.escape(word)}{namespace}\s*{name}")
        self._names, self._space = names, space
        # After a namespace such as `functions.`, a tool that was not offered counts as called, too.
        self._names_any = bool(space) and not space[-1].isalnum()
        self._addresses = word.endswith("=")

    def search(self, header: str, *, others: bool = True) -> FoundName | None:
        """Return the first name, or None; with `others` one that was not offered counts, too."""
        for match in self._pattern.finditer(header):
            if self._names is None:
                return FoundName(*match.span("name"))
            starts = [match.end()]
            if self._pattern.groups and match["space"] is not None:
                starts.append(match.start("space"))
            for start in starts:
                for length in self._names.lengths:
                    end = start + length
                    # Not within a longer name: `ping` is not called by `to=functions.ping_all`.
                    if header[start:end] in self._names.names and not _NAME_SIGN.match(header, end):
                        return FoundName(start, end)
                named = self._names_any and header.endswith(self._space, 0, start)
                if named or (others and self._addresses and self._names.names):
                    found = _ANY_NAME.match(header, start)
                    if found is not None:
                        return FoundName(*found.span())
        return None


def recipient_search(turn: TurnTree) -> RecipientSearch | None:
    """Return the search for the word before a tool's name and the name, or None.

    With `<|channel|>work to=` before names the word is `to=`. None if there is no such word.
    """
    lead = _before_name(turn)
    words = "" if lead is None else lead.core
    for marker in () if lead is None else lead.markers:
        words = words.rpartition(marker)[2]
    if not any(map(str.isalnum, words)):
        return None
    word, sign, space = words.split()[-1].rpartition("=")
    names = None if turn.offered is None else ToolNames.of(turn.offered)
    return RecipientSearch(word + sign, space, names)


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


def named_triggers(section: CallSection) -> Iterator[tuple[str, str]]:
    """Return the texts right around an offered name with which it begins a call.

    If markers open calls, they are the rest of an opening whose first marker is missing.
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
        # With its whitespace, and without.
        befores.append(f"{section.open.text.lstrip()}{first.before}{first.core}{first.after}")
    behind = [_begin(*call.row[at + 1 : at + 3])]
    if call.empty_row is not None and isinstance(call.empty_row[-1], TemplateLiteral):
        behind.append(_begin(call.empty_row[-1]))
    afters = [text for texts in behind for text in texts]
    yield from ((before, after) for before in befores for after in afters)


def named_openings(section: CallSection) -> Iterator[tuple[str, str]]:
    """Return the texts around an offered name that open one call by markers, or the end of them."""
    call = section.call
    first = call_open(call)
    if isinstance(call, JsonCall) or not first.markers or not isinstance(call.row[1], FunctionName):
        return
    yield first.core, ""
    yield from named_triggers(section)


def listed_calls(section: CallSection, offered: frozenset[str] | None) -> Iterator[str]:
    """Return the separators of a list with the beginning of the next call of an offered tool.

    Empty if each call has an opener, or if there is no separator.
    """
    call, separator = section.call, section.separator
    if not separator.core or call_open(call).core:
        return
    # Sorted, since the order of a set differs between processes.
    for name in sorted(offered or ()):
        if isinstance(call, RowCall):
            texts = {f"{name}{text}" for text in _begin(call.row[1])}
        elif call.name_is_key:
            texts = {f'{{"{name}":'}
        else:
            texts = {f'{{"{call.name_field}":{space}"{name}"' for space in ("", " ")}
        # Models write other whitespace than the template, e.g. `},{` for `}, {`.
        for space in dict.fromkeys((separator.after, "", " ", "\n")):
            yield from (f"{separator.core}{space}{text}" for text in sorted(texts))


def _begin(item: RowItem, following: RowItem | None = None) -> tuple[str, ...]:
    """Return the texts that may follow a name: without the whitespace, and as written.

    Whitespace alone may have the line breaks of another system, or may be missing before the sign
    that opens the arguments.
    """
    if not isinstance(item, TemplateLiteral):
        return ("",)
    if not item.units:
        opened = isinstance(following, ArgumentList) and following.arguments.members.open
        texts = (item.text, item.text.replace("\n", "\r\n"), opened or item.text)
        return tuple(dict.fromkeys(texts))
    return (item.units[0], f"{item.before}{item.units[0]}")


def is_marked(section: CallSection) -> bool:
    """Return whether calls are opened by a text that content does not contain."""
    return any(True for _ in call_opens(section))


class StopMark(Enum):
    """The meaning of a stop in free text."""

    # Enum's hash is slow Python code, and marks are looked up for each stop.
    __hash__ = object.__hash__

    HEADER = auto()
    REASONING = auto()
    REASONING_CLOSE = auto()
    CONTENT = auto()
    CONTENT_CLOSE = auto()
    CALLS = auto()
    CALLS_CLOSE = auto()
    SIGN = auto()
    """Markup of calls where the reader knows no call: one may be found that lacks its opener."""
    SIGN_OF_LINE = auto()
    """The same where it begins a line; elsewhere it is text."""
    END = auto()


Texts: TypeAlias = Iterator[tuple[str, str, StopMark]]
"""Stops: the whitespace before them, their texts and their meanings."""


def _cached_table(
    turn: TurnTree,
    kind: Hashable,
    stops: Callable[[], Texts],
    named: Callable[[], Iterator[tuple[str, str, str]]],
    tail: str = "",
    loose: StopMark | None = None,
    whole: frozenset[StopMark] = frozenset(),
) -> StopTable[StopMark]:
    """Return a table of stops, made once for a format, for the tools of the turn.

    `kind` is all that the stops depend on beside the nodes of the turn. `named` are stops of calls
    with an offered name in them: whitespace, and the texts before and after the name.
    """
    nodes, offered = (*fixed_nodes(turn), turn.calls), turn.offered
    found = _NAMED.of(nodes, kind, lambda: tuple(dict.fromkeys(named()))) if offered else ()
    spelled = [pair for pair in found if len(pair[1]) < _LONG_ENOUGH]
    around = [NamedStop(*pair, StopMark.CALLS) for pair in found if pair not in spelled]

    def made() -> StopTable[StopMark]:
        names = sorted(offered or ()) if spelled else ()
        texts = [
            (space, f"{before}{name}{after}", StopMark.CALLS)
            for name in names
            for space, before, after in spelled
        ]
        return StopTable([*stops(), *texts], tail, loose, around, whole=whole)

    # A name with little before it cannot be found by that, so that each name is compiled.
    return _STOPS.of(nodes, (kind, offered if spelled else bool(offered)), made).offering(offered)


def fixed_nodes(turn: TurnTree) -> tuple[object, ...]:
    """Return the nodes of a turn that are made once for a format, except its calls."""
    return turn.header, turn.reasoning, turn.content, turn.ends


_STOPS: IdentityCache[StopTable[StopMark]] = IdentityCache(256)
_NAMED: IdentityCache[tuple[tuple[str, str, str], ...]] = IdentityCache(256)
_LONG_ENOUGH = 4
"""Characters before a name by which it is found."""


def reasoning_stops(turn: TurnTree, *, calls: bool, content: bool) -> StopTable[StopMark]:
    """Return the stops of reasoning; with `calls` and `content` also markers that open these."""
    return _cached_table(
        turn,
        ("reasoning", calls, content),
        lambda: _reasoning_stops(turn, calls=calls, content=content),
        lambda: _named_in_reasoning(turn) if calls else iter(()),
    )


def _reasoning_stops(turn: TurnTree, *, calls: bool, content: bool) -> Texts:
    block = turn.reasoning
    if block is None:
        return
    yield _stop(block.close, StopMark.REASONING_CLOSE)
    # A header before the opening of content belongs to it.
    headers = ("", turn.header.core) if turn.header.is_marked else ("",)
    for literal in (turn.content.open, *turn.content.others):
        if content and literal.is_marked and literal.core != block.open.core:
            for header in headers:
                yield literal.before, header + literal.core, StopMark.CONTENT
    # An end with words in it may be a text of the reasoning.
    yield from (_stop(end, StopMark.END) for end in turn.ends if end.is_marker)
    if calls:
        yield from _calls_in_reasoning(turn)


def calls_in_reasoning(turn: TurnTree) -> StopTable[StopMark]:
    """Return the stops that open calls inside reasoning."""
    return _cached_table(
        turn, "calls", lambda: _calls_in_reasoning(turn), lambda: _named_in_reasoning(turn)
    )


def _calls_in_reasoning(turn: TurnTree) -> Texts:
    section = turn.calls
    if section is None or turn.reasoning is None:
        return
    for literal in call_opens(section):
        texts: Sequence[str] = ()
        if literal.noticed_by_marker:
            texts = (literal.trigger,)
        # An opener that does not begin with its marker counts only as a whole.
        elif literal is section.open and literal.markers:
            texts = spaced_spellings(literal.core)
        for text in texts:
            yield _longer_space(turn, section, literal.before), text, StopMark.CALLS


def _named_in_reasoning(turn: TurnTree) -> Iterator[tuple[str, str, str]]:
    """Return the openers with words in them: these mean a call only together with a name."""
    section = turn.calls
    if section is None or turn.reasoning is None:
        return
    first = call_open(section.call)
    space = _longer_space(turn, section, first.before)
    yield from ((space, before, after) for before, after in named_openings(section))
    # An opener of words alone, such as `to=f`, means a call only behind the header of a part.
    if turn.goes_on and turn.header.is_marked and first.mark and not first.markers:
        yield turn.header.before, f"{turn.header.core}{section.space}{first.core}", ""


def _longer_space(turn: TurnTree, section: CallSection, before: str) -> str:
    """Return the whitespace before calls, or before the closer of reasoning if that is longer."""
    close = "" if turn.reasoning is None else turn.reasoning.close.before
    return max((close, section.space + before), key=len)


def bracketed_marks(turn: TurnTree) -> tuple[str, ...]:
    """Return the stops of content that begin like a JSON array."""
    return tuple(text for _, text, _ in _content_stops(turn) if text.startswith("["))


def content_stops(turn: TurnTree, frame: ChannelFrame | None = None) -> StopTable[StopMark]:
    """Return the stops of content.

    With a frame, the words that lead to a call do so only in place of a header and are text in
    content, and its first marker alone does not open a call.
    """
    return _cached_table(
        turn,
        ("content", frame is not None, turn.goes_on, turn.tail),
        lambda: _with_signs(turn, list(_content_stops(turn, frame))),
        lambda: _named_stops(turn, frame),
        turn.tail,
        StopMark.CALLS,
        SIGNS,
    )


def broken_call_stops(turn: TurnTree, closers: Sequence[str]) -> StopTable[StopMark]:
    """Return the stops of the rest of a broken call: closers of calls, and stops of content."""
    closes = [("\n", text, StopMark.CALLS_CLOSE) for text in closers]
    return _cached_table(
        turn,
        ("broken", tuple(closers), turn.tail),
        lambda: chain(_content_stops(turn), closes),
        lambda: _named_stops(turn, None),
        turn.tail,
        StopMark.CALLS,
    )


def call_stops(turn: TurnTree) -> Iterator[str]:
    """Return the stops of content that begin calls; every call begins with one of them."""
    yield from (text for _, text, mark in _content_stops(turn) if mark is StopMark.CALLS)
    for _, before, after in _named_stops(turn, None):
        yield from (f"{before}{name}{after}" for name in turn.offered or ())


def _named_stops(turn: TurnTree, frame: ChannelFrame | None) -> Iterator[tuple[str, str, str]]:
    section = turn.calls
    if section is None or (frame is not None and frame.lead in tuple(call_opens(section))):
        return
    yield from ((section.space, before, after) for before, after in named_triggers(section))


def _content_stops(turn: TurnTree, frame: ChannelFrame | None = None) -> Texts:
    for end in turn.ends:
        yield _stop(end, StopMark.END)
        # The first marker of an end with several markers may be missing.
        if len(end.markers) > 1 and _is_only(turn, end.markers[-1], end):
            yield "", end.markers[-1], StopMark.END
    if turn.calls is not None:
        yield from _call_stops(turn, turn.calls, frame)
    if turn.reasoning is not None:
        yield from _spellings(reasoning_opening(turn.reasoning), StopMark.REASONING)
        yield _stop(turn.reasoning.close, StopMark.REASONING_CLOSE)
    yield _stop(turn.content.close, StopMark.CONTENT_CLOSE)
    for literal in (turn.content.open, *turn.content.others):
        yield from _spellings(literal, StopMark.CONTENT)
    if turn.header.markers:
        # A header of ordinary words cannot be recognized in text.
        yield _stop(turn.header, StopMark.HEADER)
    yield from _markers_without_word(turn)


def markup_joints(
    turn: TurnTree,
    before: TurnPart | None,
    first: StopTable[StopMark],
    content: StopTable[StopMark],
    marks: frozenset[StopMark] = frozenset(StopMark),
) -> MarkupJoints:
    """Return the texts that the template writes after a part, or first, up to the next part.

    Only the front counts that is markup to a reader: a stop of these marks that is among the
    `first`, then stops of `content` up to the opener of calls, whose reader takes the rest.
    """

    def markup(text: str) -> str:
        found = first.find(text, 0)
        if (
            found is None
            or found.label not in marks - SIGNS
            or first.written_before(text, found, 0)
        ):
            return ""
        # Each next stop has to come right behind the last one, whitespace aside.
        while found.label is not StopMark.CALLS:
            rest = text[found.end :].lstrip()
            at = len(text) - len(rest)
            following = content.find(text, at)
            if not rest:
                break
            if following is None or following.start != at or following.label in SIGNS:
                return text[: found.end]
            found = following
        return text

    def made() -> MarkupJoints:
        return MarkupJoints(filter(None, map(markup, _joint_texts(turn, before))))

    return _JOINTS.of((turn.strict, turn.calls, first.texts, content.texts), (before, marks), made)


_JOINTS: IdentityCache[MarkupJoints] = IdentityCache(256)


def _joint_texts(turn: TurnTree, before: TurnPart | None) -> Iterator[str]:
    calls = turn.strict.calls
    opening = "" if calls is None else f"{calls.section_open}{written_start(calls.row)}"
    for row in turn.strict.rows:
        # The text between two parts is collected, and kept if the first is the wanted one.
        last: TurnPart | None = None
        text = ""
        if turn.calls is None and row.has(TurnPart.CALLS):
            continue
        for item in row.items:
            if isinstance(item, str):
                text += item
                continue
            if last is before and item.part is TurnPart.CALLS:
                text += opening.removeprefix(item.written_start)
                # If both parts have whitespace at their joint, models write less of it.
                begun = opening.lstrip().removeprefix(item.written_start.lstrip())
                core = text[: len(text) - len(begun)]
                bare = core if begun[:1].isalnum() else core.rstrip()
                # E.g. "</think>\n\n" and "<call>", with both line breaks, with one, and with none.
                yield from (core[:end] + begun for end in range(len(bare), len(core) + 1))
            elif last is before:
                yield text
            last, text = item.part, ""


def written_start(row: Row) -> str:
    """Return the text of a row before its first slot."""
    return row[0] if row and not isinstance(row[0], RowSlot) else ""


SIGNS = frozenset({StopMark.SIGN, StopMark.SIGN_OF_LINE})


def _with_signs(turn: TurnTree, stops: list[tuple[str, str, StopMark]]) -> Texts:
    """Return the stops of content, with signs of calls of offered tools that lack their opener."""
    yield from stops
    section = turn.calls
    if section is None or not turn.offered:
        return
    calls = tuple(text for _, text, mark in stops if mark is StopMark.CALLS)
    if is_marked(section):
        # Models also write calls as a list, e.g. `[<tool_call>`; the bracket is not content.
        yield from ((section.space, f"[{text}", StopMark.CALLS) for text in calls)
    for text, begins_line in _signs(section):
        # With the whole opener, the call is found already.
        if not text.startswith(calls):
            yield section.space, text, StopMark.SIGN_OF_LINE if begins_line else StopMark.SIGN


def _signs(section: CallSection) -> Iterator[tuple[str, bool]]:
    """Return the texts by which calls that lack their opener are noticed.

    The second part says whether it has to begin a line: what only looks like a marker, or like the
    object of a call, may be anything elsewhere.
    """
    call = section.call
    begin = (section.open, call_open(call), section.close, section.later_close)
    openers = [*filter(is_unit, (*section.open.units, *call_open(call).units))]
    yield from ((marker, False) for marker in filter(is_unit, call_markers(section)))
    yield from ((text, False) for literal in begin for text in _signed_markers(literal.core))
    yield from ((text, False) for text in filter(None, map(mirrored, openers)))
    yield from ((text, True) for marker in openers for text in _lookalikes(marker))
    if isinstance(call, RowCall):
        words = _words_behind(call_open(call).core)
        yield from ((text, True) for text in filter(None, [words]))
    field = call.name_field if isinstance(call, JsonCall) else ""
    # E.g. `{"name"`, and `[{"name"` for a list.
    for space in _SPACES:
        yield from ((f'{list_}{{{space}"{field or "name"}"', True) for list_ in ("", "["))


_SPACES = ("", " ", "\n", "\n  ", "\n    ")
"""Whitespace between the brace of an object and its first key."""
BARS = "|｜‖│∣"
"""Bars that models mistake for each other."""


def call_markers(section: CallSection) -> tuple[str, ...]:
    """Return the markers of calls, of their section and of their arguments."""
    literals = (*call_literals(section), section.open, section.close, section.later_close)
    units = dict.fromkeys(unit for literal in literals for unit in literal.units)
    return tuple(filter(is_telling, dict.fromkeys((*units, *entry_markers(section.call)))))


def entry_markers(call: RowCall | JsonCall) -> tuple[str, ...]:
    """Return the markers around the arguments of a call, without the text that they enclose."""
    if isinstance(call, JsonCall):
        return ()
    lists = [item.arguments.members for item in call.row if isinstance(item, ArgumentList)]
    pieces = (
        piece for members in lists for piece in members.entry if not isinstance(piece, RowSlot)
    )
    return tuple(
        dict.fromkeys(marker for piece in pieces for marker in TemplateLiteral.of(piece).markers)
    )


def is_telling(text: str) -> bool:
    """Return whether a piece of markup is more than a sign or a word of prose."""
    return is_unit(text) or (any(map(str.isalnum, text)) and not text.isalnum())


def _lookalikes(marker: str) -> Iterator[str]:
    """Return the spellings with other bars by which a reader notices a misspelled marker."""
    if any(bar in marker for bar in BARS):
        # E.g. `<｜x｜>` for `<|x|>`.
        yield from (re.sub(f"[{BARS}]", bar, marker) for bar in "|｜‖" if bar not in marker)
    elif re.fullmatch(r"<\w+>", marker):
        # E.g. `<|x|>` for `<x>`.
        yield from (f"<{bar}{marker[1:-1]}{bar}>" for bar in "|｜")


def mirrored(marker: str) -> str:
    """Return the closer that a marker has elsewhere: `[/X]` for `[X]`, or empty for another."""
    match = _BRACKETED_NAME.fullmatch(marker)
    return "" if match is None else f"{match[1]}/{match[2]}"


def reasoning_opening(block: MarkerBlock) -> TemplateLiteral:
    """Return the opening of reasoning: `<x>` if the format has only the closer `</x>`."""
    mirror = block.close.core.replace("/", "", 1)
    alone = not block.open.core and mirror and mirrored(mirror) == block.close.core
    return TemplateLiteral.of(mirror) if alone else block.open


_BRACKETED_NAME = lazy_pattern(r"([<\[])([A-Za-z][\w:-]*[>\]])")


def _signed_markers(text: str) -> Iterator[str]:
    """Return the markers of an opener or closer with the signs right before them: `]<]x[>`."""
    at = begun = 0
    for unit in edge_units(text):
        end = at + len(unit)
        if is_unit(unit) and begun < at:
            yield text[begun:end]
        if is_unit(unit) or any(char.isalnum() or char.isspace() for char in unit):
            begun = end
        at = end


def _words_behind(text: str) -> str:
    """Return the words of an opener behind its last marker, such as `call:` of `<x>call:`."""
    units = edge_units(text)
    last = max((at for at, unit in enumerate(units) if is_unit(unit)), default=-1)
    words = "".join(units[last + 1 :]).strip()
    return words if any(map(str.isalnum, words)) and not words.isalnum() else ""


def _call_stops(turn: TurnTree, section: CallSection, frame: ChannelFrame | None) -> Texts:
    for literal in call_opens(section):
        if frame is not None and literal == frame.lead:
            return
        text = literal.trigger
        taken = (*(end.core for end in turn.ends), "" if frame is None else frame.first)
        # A marker that also ends turns does not identify a call: require the whole opening.
        if text in taken:
            text = literal.core
        for spelling in spaced_spellings(text):
            yield section.space + literal.before, spelling, StopMark.CALLS
    named = bool(turn.offered) and any(True for _ in named_triggers(section))
    if not is_marked(section):
        for text in section.leads:
            yield section.space, text, StopMark.CALLS
    # Without markers and names, only the JSON itself can show a call.
    if not is_marked(section) and not named:
        yield section.space, "[" if section.open.core.startswith("[") else "{", StopMark.CALLS


def _markers_without_word(turn: TurnTree) -> Texts:
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
        texts += (call_literal.core for call_literal in call_literals(section))
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


def _spellings(literal: TemplateLiteral, mark: StopMark) -> Texts:
    """Return the spellings of an opening with other whitespace inside it."""
    return ((literal.before, text, mark) for text in spaced_spellings(literal.core))


def _stop(literal: TemplateLiteral, mark: StopMark) -> tuple[str, str, StopMark]:
    return literal.before, literal.core, mark
