r"""Read a whole turn: decide which text is reasoning, content or a call, and where the turn ends.

`TurnReader.read` reads headers, then content up to the next stop; the stop decides whether
reasoning, calls or content follow, and the readers of these pass their text to the collector.

- `HeaderReader` reads `<|channel|>any words<|message|>` by the turn's `ChannelFrame`.
- `ReasoningReader` reads one block up to its closer, an opening of content, or the turn's end.
- `CallTrial` decides what a call inside unclosed reasoning is: it reads the text from each possible
  opening on and looks for a whole call.

A marker that no call follows is text, and closers that the end cut off are supplied:

    Hm.\n</think>\n\nUse <tool_call> to call.\n\n<tool_call>\n<function=get_weather>\n…3\n
    reasoning  Hm.
    content    Use <tool_call> to call.
    call       get_weather, {"city": "Use <tool_call> to", "days": 3}, with the status "repaired"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral, spaced_spellings
from autoparser.analysis.core.turn_parts import TurnPart

from .call_ends import OpenParts, section_closers
from .json_text import Emit
from .message_collector import TRIAL_CHOICES, MessageCollector
from .parsed_message import ParsedCall, Status
from .prose_reader import JsonContent, read_prose
from .section_reader import SectionReader
from .stop_marks import (
    LONGEST_HEADER,
    SIGNS,
    ChannelFrame,
    StopMark,
    bracketed_marks,
    call_open,
    calls_in_reasoning,
    channel_frame,
    content_stops,
    is_marked,
    markup_joints,
    reasoning_opening,
    reasoning_stops,
    recipient_search,
    skip_again,
    written_start,
)
from .text_lookahead import (
    NO_JOINTS,
    FoundStop,
    MarkupJoints,
    StopTable,
    TextLookahead,
    behind_space_any,
    skip_space,
    skip_written,
    wanted_stops,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_nodes import ArgumentList, CallSection, PartBody, RowCall, TurnStart, TurnTree
from .turn_request import CallSchemas, IdentityCache

# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_HEADER, _CONTENT, _CALLS, _END = StopMark.HEADER, StopMark.CONTENT, StopMark.CALLS, StopMark.END
_REASONING, _REASONING_CLOSE = StopMark.REASONING, StopMark.REASONING_CLOSE
_SIGN, _SIGN_OF_LINE = StopMark.SIGN, StopMark.SIGN_OF_LINE
_MARKUP, _CONTENT_SPAN = SpanKind.MARKUP, SpanKind.CONTENT
_REASONING_SPAN, _REASONING_PART = SpanKind.REASONING, TurnPart.REASONING

# Headers with other words than the template's.


class HeaderReader:
    """Reads `<|channel|>any words<|message|>` in place of a header, by the turn's frame."""

    def __init__(self, turn: TurnTree, section: SectionReader | None) -> None:
        """Prepare for turns of this expression."""
        self._turn, self._section = turn, section
        self._headed: dict[tuple[str, str], SectionReader] = {}
        """Readers of calls by the header before and after the name."""
        self._named: dict[str, SectionReader] = {}
        """The same by whole headers, which models repeat."""
        self.frame = channel_frame(turn)
        self._recipient = None if self.frame is None else recipient_search(turn)
        cores = (*(end.core for end in turn.ends), turn.header.mark)
        frame = self.frame
        first, last, lead = (
            ("", "", None) if frame is None else (frame.first, frame.last, frame.lead)
        )
        self._lead = "" if lead is None or section is None else lead.core
        self._openers = tuple(filter(None, (first, self._lead)))
        core = turn.header.core
        alike = any(core.startswith(text) or text.startswith(core) for text in self._openers)
        self._other = () if alike else (core,)
        """The template's header, if it shows at once that no opener comes."""
        self._uncalled = () if turn.calls is not None else tuple(_uncalled_openers(turn))
        self._first, self._inside = wanted_stops(first, cores), wanted_stops(last, cores)

    def read(
        self, tape: TextTape, collector: MessageCollector, stops: StopTable[StopMark]
    ) -> Reading[StopMark | None]:
        """Read a header and, if it leads to a call, the call after it; return its meaning.

        Returns None if there is no header, or if it is one of the template's own, which are among
        the `stops` of content: it is left. The text before a repeated opener is taken.
        """
        frame = self.frame
        if frame is None or not (yield from self._begins(tape)):
            return None
        size = yield from self._size(tape, frame)
        header = tape.text[tape.at : tape.at + abs(size)]
        # A header that breaks off has no meaning of its own: the turn goes on after it.
        if size < 0:
            if self._recipient is not None and self._recipient.search(header):
                return None
            tape.take(len(header), SpanKind.JUNK)
            collector.strays = True
            return _HEADER
        if header and not header.endswith(frame.last):
            # The output is truncated inside the header.
            tape.take(size, _MARKUP)
            return _HEADER
        known = self._named.get(header)
        if known is None and self._is_left(header, stops):
            return None
        calls = known or self._calls(header, tape)
        if calls is not None:
            space = tape.left() - len(tape.text[tape.at :].lstrip())
            return (yield from calls.read(tape, collector, space))
        if not header:
            return None
        # A model may repeat the first marker: what counts is the last one.
        start = header.rindex(frame.first)
        tape.take(start, _MARKUP)
        if _stops_at(stops, header, start):
            return None
        taken = tape.take(size - start, _MARKUP)
        collector.drop_blank()
        taken += yield from skip_again(tape, TemplateLiteral.of(header))
        if frame.means(header[start:]) is not _REASONING_PART:
            return _CONTENT
        collector.reasoning_marker(taken)
        return _REASONING

    def _is_left(self, header: str, stops: StopTable[StopMark]) -> bool:
        """Return whether a header is one of the template's own, or opens calls that are text."""
        if any(opener in header for opener in self._uncalled):
            return True
        return _stops_at(stops, header, len(header) - len(header.lstrip()))

    def _has_other_role(self, tape: TextTape) -> Reading[bool]:
        """Return whether the marker of a header comes without the template's word after it."""
        header = self._turn.header
        if not header.is_marked or len(header.units) == 1:
            return False
        ahead = TextLookahead(tape, tape.position)
        yield from ahead.space()
        return (yield from ahead.among((header.core, header.units[0]))) == header.units[0]

    def skip_role(self, tape: TextTape) -> Reading[None]:
        """Take words that a model wrote after its role, if a call's header comes after them."""
        frame, recipient_ = self.frame, self._recipient
        if frame is None or recipient_ is None or tape.text.startswith(frame.first, tape.at):
            return
        ahead = TextLookahead(tape, tape.position)
        if not (yield from ahead.first_of(self._first, LONGEST_HEADER)):
            return
        start = tape.offset + ahead.at
        yield from ahead.text(frame.first)
        if not (yield from ahead.first_of(self._inside, LONGEST_HEADER)):
            return
        yield from ahead.text(frame.last)
        if recipient_.search(tape.text[start - tape.offset : ahead.at]):
            tape.take(start - tape.position, SpanKind.JUNK)

    def _calls(self, header: str, tape: TextTape) -> SectionReader | None:
        """Return the reader of the call that comes next, or None if the header leads to none."""
        recipient_, offered, frame = self._recipient, self._turn.offered, self.frame
        named = None if recipient_ is None else recipient_.search(header)
        if recipient_ is not None and named is not None and frame is not None:
            name = header[named.start : named.end]
            known = offered is None or name in offered
            # An answer may be addressed, too, and a part to the model itself, but not to a tool.
            own = name in self._turn.header.units or frame.is_known(header, TurnPart.CONTENT)
            if not known and own:
                named = recipient_.search(header, others=False)
        if named is not None and self._turn.calls is not None:
            calls, around = self._turn.calls, (header[: named.start], header[named.end :])
            reader = self._headed.get(around)
            if reader is None:
                section = _HEADED.of((calls,), around, lambda: _section_of(calls, *around))
                reader = SectionReader(self._turn, section)
                if len(self._headed) < _MOST_HEADED:
                    self._headed[around] = reader
            if len(self._named) < _MOST_HEADED:
                self._named[header] = reader
            return reader
        leads = bool(self._lead) and tape.text[tape.at :].lstrip().startswith(self._lead)
        return self._section if leads else None

    def _begins(self, tape: TextTape) -> Reading[bool]:
        """Return whether a header comes; a header of another role before a call is taken."""
        if tape.text.startswith(self._other, tape.at):
            return False
        if (yield from self._at_opener(tape)):
            return True
        if not (yield from self._has_other_role(tape)):
            return False
        yield from self.skip_role(tape)
        return (yield from self._at_opener(tape))

    def _at_opener(self, tape: TextTape) -> Reading[bool]:
        """Return whether a header comes: the frame's first marker, or words that lead to a name."""
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            if bare.startswith(self._openers):
                return True
            open_ = any(opener.startswith(bare) for opener in self._openers)
            if tape.closed or not open_ or len(text) - len(bare) > LONGEST_HEADER:
                return False
            begun = [opener for opener in self._openers if bare and opener.startswith(bare)]
            if len(begun) == 1:
                tape.waits_for_rest(begun[0], tape.position + len(text) - len(bare))
            yield

    def _size(self, tape: TextTape, frame: ChannelFrame) -> Reading[int]:
        """Return the length of the header and the whitespace before it, or 0 if it is missing.

        Negative if it is broken off: the turn ends in it, or another header begins.
        """
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            if not bare.startswith(frame.first):
                return 0
            found = self._inside.find(bare, len(frame.first))
            if found is not None and found.end <= LONGEST_HEADER:
                if tape.closed or not self._inside.unsure(bare, found, 0):
                    space = len(text) - len(bare)
                    return space + found.end if found.label else -space - found.start
            elif tape.closed or len(bare) > LONGEST_HEADER:
                cut = found is None and tape.closed and not tape.complete
                return len(text) if cut and len(bare) <= LONGEST_HEADER else 0
            if found is None:
                limit = tape.position + len(text) - len(bare) + LONGEST_HEADER
                tape.still = self._inside.while_absent(tape, tape.position, limit)
            yield


def _uncalled_openers(turn: TurnTree) -> Iterator[str]:
    """Return the openers of calls, for a request without calls: their headers are text there.

    Otherwise `<|open|>tools<|sep|>` would be read as a header with unknown words, and the call
    would lose it. An opener that content or reasoning shares tells nothing.
    """
    calls = turn.strict.calls
    if calls is None:
        return
    blocks = [turn.content, *filter(None, (turn.reasoning,))]
    shared = [literal.core for block in blocks for literal in (block.open, *block.others)]
    for text in (calls.section_open, calls.row[0]):
        opener = text.strip() if type(text) is str else ""
        if opener and not any(opener in core for core in shared):
            yield opener


def _stops_at(stops: StopTable[StopMark], text: str, start: int) -> bool:
    """Return whether a stop is at this very offset of a text."""
    found = stops.find(text, start)
    return found is not None and found.start == start and found.label not in SIGNS


_MOST_HEADED = 64
"""Headers are texts of models: so many are kept."""
_HEADED: IdentityCache[CallSection] = IdentityCache(256)


def _section_of(section: CallSection, before: str, after: str) -> CallSection:
    """Return the section whose call begins with a header exactly as it was written."""
    call = section.call
    if not isinstance(call, RowCall):
        return section
    row = call.row
    at = next(at for at, item in enumerate(row) if isinstance(item, ArgumentList))
    headed = (TemplateLiteral.of(before.lstrip()), row[1], TemplateLiteral.of(after), *row[at:])
    return replace(section, open=TemplateLiteral(), call=RowCall(headed))


# The trial of a possible call in reasoning.


class CallTrial:
    """Finds the first whole call of an offered tool in unclosed reasoning."""

    def __init__(self, turn: TurnTree, section: SectionReader) -> None:
        """Store the reader of a turn's calls."""
        self._turn, self._section = turn, section

    @cached_property
    def _behind(self) -> tuple[str, ...]:
        """Texts that may come after calls; a cut may have left only the front of one."""
        turn, calls = self._turn, self._section.section
        closers = (*section_closers(turn, calls), *calls.close.units)
        return ("", *closers, *(end.core for end in turn.ends))

    def find(self, text: str, schemas: CallSchemas) -> tuple[int, int] | None:
        """Return the offsets of the whitespace before the call and of the call, or None.

        Only the first `_MOST_TRIED` openings are tried, so the cost is at most the length of the
        text times that number.
        """
        # Reasoning may quote calls, so a marker alone proves nothing: the call has to be whole.
        stops = calls_in_reasoning(self._turn)
        at = 0
        for _ in range(_MOST_TRIED):
            found = stops.find(text, at)
            if found is None:
                return None
            # Its first marker may be missing: nothing else may.
            start = found.start + self._header_size(text[found.start :])
            whole = self._missing_front(found.text) + text[start:]
            calls, _, _ = self._read(whole, schemas, complete=True)
            if calls and calls[0].status is Status.OK:
                return stops.written_before(text, found, 0), start
            at = found.end
        return None

    def _header_size(self, text: str) -> int:
        """Return the length of the header that a text begins with, and of whitespace behind it."""
        header = self._turn.header
        if not header.is_marked or not text.startswith(header.core):
            return 0
        return len(text) - len(text[len(header.core) :].lstrip())

    def _missing_front(self, stop: str) -> str:
        """Return the beginning of the opening of calls if a stop is the rest of it."""
        opening = call_open(self._section.section.call)
        rests = (unit for unit in opening.units if stop.startswith(unit))
        return opening.core[: opening.core.index(next(rests, ""))]

    def goes_on(self, text: str, schemas: CallSchemas) -> bool:
        """Return whether a cut text is a call so far: a whole one, or the front of one."""
        text = text.lstrip()
        calls, cut, rest = self._read(text[self._header_size(text) :], schemas, complete=False)
        return cut or (bool(calls) and any(text.startswith(rest.strip()) for text in self._behind))

    def _read(
        self, text: str, schemas: CallSchemas, *, complete: bool
    ) -> tuple[Sequence[ParsedCall], bool, str]:
        """Read a text; return its calls, whether they were cut, and the text after them."""
        tape = TextTape()
        tape.feed(text)
        tape.closed, tape.complete = True, complete
        collector = MessageCollector(self._turn.offered, schemas, TRIAL_CHOICES)
        collector.tries = True
        cut = False
        try:
            # No reader waits on a closed tape, so one step reads everything.
            next(self._section.read(tape, collector))
        except StopIteration as ended:
            cut = ended.value is _END
        return collector.closed_calls, cut, tape.text[tape.at :]


_MOST_TRIED = 8


class _Stopped(Struct, frozen=True):
    """The stop that ended reasoning, and its length with the whitespace before it."""

    mark: StopMark
    """The mark of the stop, e.g. `StopMark.REASONING_CLOSE`."""
    size: int
    r"""The length of the stop with that whitespace, e.g. 9 for "\n</think>"."""


class ReasoningReader:
    """Reads one block of reasoning up to its closer, an opening of content, or the turn's end.

    If nothing closes it, a whole call inside it is a call and ends it: the text from an opening of
    a call on is held until it is known whether that happens.
    """

    def __init__(
        self,
        turn: TurnTree,
        trial: CallTrial | None,
        content: StopTable[StopMark],
        *,
        keeps: bool,
    ) -> None:
        """Prepare to read the reasoning of a turn; without a trial, calls in it are text.

        `content` are the stops of the content after it. With `keeps`, openings of calls and content
        in it are text, too.
        """
        self.turn = turn
        self._trial = trial
        calls = trial is not None and not keeps
        self._stops = reasoning_stops(turn, calls=calls, content=not keeps)
        self._closers = reasoning_stops(turn, calls=False, content=not keeps)
        self._joints = markup_joints(
            turn, _REASONING_PART, self._closers, content, frozenset({_REASONING_CLOSE})
        )
        block = turn.reasoning
        self._opener = TemplateLiteral() if block is None else reasoning_opening(block)
        self._opener_signs = {text[:1] for text in (self._opener.core, *self._opener.markers)}
        close = "" if block is None else block.close.core
        # The closer of reasoning may also end the turn.
        self._ends = any(end.core == close for end in turn.ends)
        # Headers of other roles begin with the same marker.
        header = turn.header.units[0] if turn.header.is_marked else turn.header.mark
        cores = (*(end.core for end in turn.ends), header)
        self._behind_end = tuple(filter(None, cores))

    def read(
        self, tape: TextTape, collector: MessageCollector, *, opened: bool = False
    ) -> Reading[None]:
        """Read from after the opening of the reasoning to after its closer.

        Any other end of it is left. If it has `opened`, the whitespace after the opening is taken.
        """
        block = self.turn.reasoning
        if block is None:
            return
        if opened:
            begun = tape.position - len(block.open.after)
        else:
            begun = yield from self._opening(tape, collector, block)
        joints = self._joints if collector.silent_markers else NO_JOINTS
        stopped = yield from self._until(tape, collector.reasoning, joints)
        if stopped is not None and stopped.mark is _CALLS:
            stopped = yield from self._read_held(tape, collector, stopped.size)
        if stopped is None:
            # The output is truncated inside a stop.
            tape.take(tape.left() if tape.closed and not tape.complete else 0, _MARKUP)
            return
        if stopped.mark is not _REASONING_CLOSE:
            if stopped.mark is not _END:
                collector.close_reasoning(tape.position)
            return
        emptied = block.empty if tape.position == begun else None
        collector.reasoning_marker(tape.take(stopped.size, _MARKUP))
        collector.close_reasoning(tape.position)
        collector.drop_blank()
        # Then no other end is missing.
        collector.ended = self._ends
        after = block.close.after if emptied is None else emptied
        if after:
            collector.reasoning_marker((yield from skip_written(tape, after)))

    def after(self, openings: MarkupJoints) -> re.Pattern[str]:
        """Return the pattern of an opening as the template writes it, up to a sign of text."""
        block = self.turn.reasoning
        # A call may begin with the same marker.
        if block is None or _call_start(self.turn).startswith(block.open.core):
            return re.compile("(?!)")
        opened = f"{block.open.core}{block.open.after}"
        texts: list[str] = []
        for row in self.turn.strict.rows:
            match row.items:
                case (str() as text, PartBody(part=TurnPart.REASONING), *_):
                    texts += [text] if openings.begun(text) == text else []
                case _:
                    continue
        found = "|".join(re.escape(text) for text in dict.fromkeys(texts) if text.endswith(opened))
        signs = re.escape("".join(self._opener_signs))
        return re.compile(rf"(?:{found or '(?!)'})(?=[^\s{signs}])")

    def _until(
        self, tape: TextTape, emit: Emit, joints: MarkupJoints, *, hold_calls: bool = False
    ) -> Reading[_Stopped | None]:
        """Read up to a stop that ends the reasoning; return it, or None if the text ended.

        An end of the turn in the middle of it is text, and so are calls with `hold_calls`.
        """
        stops = self._closers if hold_calls else self._stops
        while True:
            found = yield from read_prose(tape, stops, _REASONING_SPAN, emit, "", joints)
            if found is None:
                return None
            size = found.end - tape.at
            if found.label is not _END or (yield from self._ends_there(tape, size)):
                return _Stopped(found.label, size)
            # A model that reasons about templates quotes their ends.
            emit(tape.take(size, _REASONING_SPAN))

    def _ends_there(self, tape: TextTape, size: int) -> Reading[bool]:
        """Return whether an end counts: no text, another end or a header comes after it."""
        # Inspect a limited number of characters, however many have arrived.
        most = size + _MOST_SPACE + max(map(len, self._behind_end), default=0) + 1
        while True:
            behind = tape.text[tape.at + size : tape.at + most]
            rest = behind.lstrip()
            if len(behind) - len(rest) > _MOST_SPACE or (tape.closed and not rest):
                return True
            if rest and rest.startswith(self._behind_end):
                return True
            if tape.closed or not any(text.startswith(rest) for text in self._behind_end):
                return False
            yield

    def _read_held(
        self, tape: TextTape, collector: MessageCollector, size: int
    ) -> Reading[_Stopped | None]:
        """Hold a possible call; return the stop that ended the reasoning, CALLS if a call did."""
        held = [tape.take(size, _REASONING_SPAN)]
        stopped = yield from self._until(tape, held.append, NO_JOINTS, hold_calls=True)
        text = "".join(held)
        call = None
        ended = stopped is not None and stopped.mark is _END
        if self._trial is not None and (ended or (stopped is None and tape.complete)):
            # The end of the turn may be the call's only closer, so it is part of the trial.
            behind = tape.text[tape.at : tape.at + (0 if stopped is None else stopped.size)]
            call = self._trial.find(text + behind, collector.schemas)
        if call is None:
            # In a truncated output, the beginning of a call is markup, not reasoning or a call.
            cut = stopped is None and not tape.complete
            if cut and self._trial is not None and self._trial.goes_on(text, collector.schemas):
                tape.put_back(text)
                tape.take(len(text), _MARKUP)
            else:
                collector.reasoning(text)
            return stopped
        space, start = call
        tape.put_back(text[space:])
        collector.reasoning(text[:space])
        tape.take(start - space, _MARKUP)
        collector.interrupted = collector.last is _REASONING_PART and self._needs_closer()
        return _Stopped(_CALLS, 0)

    def _needs_closer(self) -> bool:
        """Return whether the template never writes a call directly behind reasoning."""
        # If nothing opens reasoning, it may as well be the content before the call.
        if self.turn.reasoning is None or self.turn.reasoning.leads:
            return False
        direct = (_REASONING_PART, TurnPart.CALLS)
        for row in self.turn.strict.rows:
            items = [item for item in row.items if not isinstance(item, str) or item.strip()]
            parts = [item.part if isinstance(item, PartBody) else None for item in items]
            if direct in pairwise(parts):
                return False
        return True

    def _opening(
        self, tape: TextTape, collector: MessageCollector, block: MarkerBlock
    ) -> Reading[int]:
        """Take the rest of the opening; return the offset at which an empty block would close."""
        mark = collector.reasoning_marker
        prompted = self.turn.start is TurnStart.REASONING and not tape.position
        begun = -1 if prompted else tape.position
        after = self.turn.unwritten if prompted else block.open.after
        if after:
            mark((yield from skip_written(tape, after)))
        opening, first = self._opener, tape.text[tape.at : tape.at + 1]
        if opening.core and (not first or first in self._opener_signs or first.isspace()):
            # The model may repeat a marker that the prompt has already written.
            text = tape.position
            mark((yield from _skip_repeated(tape, opening)))
            mark((yield from skip_again(tape, opening)))
            if tape.position != text:
                mark((yield from skip_written(tape, opening.after)))
        return begun


_MOST_SPACE = 256
"""Most whitespace after an end that is waited for; it limits the cost of a wait."""


def _skip_repeated(tape: TextTape, literal: TemplateLiteral) -> Reading[str]:
    """Take and return a repeated literal and the whitespace before it, or return empty."""
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    if not (yield from ahead.text(literal.core)):
        return ""
    return tape.take(ahead.at - tape.at, _MARKUP)


def turn_reader_for(turn: TurnTree, *, fenced: bool, keeps_reasoning: bool) -> TurnReader:
    """Return the reader of a turn's expression, made once for a format and names of tools.

    It is kept for the nodes of the tree: they are made once for a format.
    """
    nodes = (turn.header, turn.reasoning, turn.content, turn.calls, turn.ends, turn.strict)
    rest = (turn.start, turn.unwritten, turn.lead, turn.goes_on, turn.tail, turn.json, turn.offered)
    return _READERS.of(
        nodes,
        (rest, fenced, keeps_reasoning),
        lambda: TurnReader(
            replace(turn, schemas={}, prefill=""), fenced=fenced, keeps_reasoning=keeps_reasoning
        ),
    )


class TurnReader:
    """Reads a tape by the expression of a turn."""

    def __init__(self, turn: TurnTree, *, fenced: bool, keeps_reasoning: bool) -> None:
        """Prepare to read turns of this expression.

        Where the answer is JSON that is `fenced`, the fence is left out.
        With `keeps_reasoning` neither a call nor what opens content ends reasoning.
        """
        self.turn = turn
        self._section = None if turn.calls is None else SectionReader(turn, turn.calls)
        self._headers = HeaderReader(turn, self._section)
        stops = self._stops = content_stops(turn, self._headers.frame)
        trial = None if self._section is None else CallTrial(turn, self._section)
        self._reasoning = ReasoningReader(turn, trial, stops, keeps=keeps_reasoning)
        marked = turn.calls is None or is_marked(turn.calls)
        self._json: JsonContent | None = None
        if turn.json and marked:
            self._json = JsonContent(turn, bracketed_marks(turn), fenced=fenced)
        leads = turn.reasoning is not None and turn.reasoning.leads
        self._begins_reasoning = turn.start is TurnStart.REASONING or (
            leads and turn.start is not TurnStart.CONTENT
        )
        """Whether the text begins in reasoning: opened by the prompt, or never opened."""
        # A model may omit the header, but not the part after it.
        frame = self._headers.frame
        self._goes_on = (turn.header.core, *(() if frame is None else (frame.first,)))
        self._behind_end = {end.core: end.after for end in turn.ends}
        self._written_behind = {
            _REASONING_CLOSE: "" if turn.reasoning is None else turn.reasoning.close.after,
            _CONTENT: turn.content.open.after,
            StopMark.CONTENT_CLOSE: turn.content.close.after,
            _HEADER: turn.header.after + turn.lead,
        }
        openings = markup_joints(turn, None, stops, stops)
        self._openings = NO_JOINTS if self._begins_reasoning else openings
        """The texts that the template writes first, if none of them can be text."""
        self._joints = markup_joints(turn, TurnPart.CONTENT, stops, stops, frozenset({_CALLS}))
        rows = turn.strict.rows
        texts = [item for row in rows for item in row.items if isinstance(item, str)]
        self._final_ends = {
            row.end.core for row in rows if not any(row.end.core in text for text in texts)
        }
        """The ends that the template writes only behind the last part."""
        self._opens_reasoning = self._reasoning.after(self._openings)
        headed = turn.start is TurnStart.HEADER and bool(turn.header.markers)
        self._repeats_header = headed and turn.header.core.endswith(turn.header.markers[-1])
        self._bare_header = turn.start is TurnStart.TURN and not turn.header.markers
        self._call_opening = _sure_opening(turn, stops)
        header = turn.header.core + self._written_behind[_HEADER]
        self._header_size = len(header)
        self._next_header = () if frame is None else _sure_header(header + frame.first, turn, stops)
        opens = (turn.header, turn.content.open, *turn.content.others)
        self._opens = {
            spelling: literal for literal in opens for spelling in spaced_spellings(literal.core)
        }

    def read(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Read to the end of the text."""
        mark = yield from self._begin(tape, collector)
        # If calls have no marker of their own, an object may be one.
        json_read = self._json is None
        opened = OpenParts(self.turn)
        while mark is not _END and not (tape.closed and not tape.left()):
            if not json_read and self._json is not None:
                # Markers inside the strings of the answer are text, so it is read as a value.
                json_read = yield from self._json.read(tape, collector)
            mark = yield from self._block(tape, collector, opened, mark)
        if self._section is not None:
            self._section.judge_noise(tape, collector)
            self._section.judge_content(tape, collector)
        behind, opener = "", "" if self._section is None else self._section.opener
        while True:
            behind += tape.take(tape.left(), SpanKind.JUNK)
            # A call behind the end of the turn is lost, as one beyond the allowed number is.
            collector.strays = collector.strays or bool(opener and opener in behind)
            if tape.closed:
                return
            behind = behind[-len(opener) :] if opener else ""
            yield

    def _begin(self, tape: TextTape, collector: MessageCollector) -> Reading[StopMark]:
        """Read up to the first block, or reasoning that comes first; return the mark read."""
        silent = collector.silent_markers
        if silent and self._openings.may_begin(tape):
            yield from self._openings.wait(tape)
        opened = self._opens_reasoning.match(tape.text) if silent else None
        if opened is not None:
            tape.take(opened.end(), _MARKUP)
            yield from self._reasoning.read(tape, collector, opened=True)
            return _REASONING_CLOSE
        if self._bare_header:
            yield from self._header(tape)
        if self._begins_reasoning:
            yield from self._reasoning.read(tape, collector)
            return _REASONING_CLOSE
        if self._repeats_header:
            yield from skip_again(tape, self.turn.header)
        if self.turn.unwritten:
            yield from skip_written(tape, self.turn.unwritten)
        return _HEADER

    def _header(self, tape: TextTape) -> Reading[None]:
        """Read a header without markers at the very beginning; elsewhere it may be text."""
        core = self.turn.header.mark
        while not tape.closed and tape.left() < len(core) and core.startswith(tape.text[tape.at :]):
            yield
        if core and tape.text.startswith(core, tape.at):
            tape.take(len(core), _MARKUP)
            yield from skip_written(tape, self._written_behind[_HEADER])

    def _block(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts, before: StopMark
    ) -> Reading[StopMark]:
        """Return the reader of the next block; its result is the block's mark, or END."""
        if self._headers.frame is not None:
            return self._headed_block(tape, collector, opened, before)
        if (
            before is _REASONING_CLOSE
            and self._section is not None
            and not tape.closed
            and tape.text.startswith(self._call_opening, tape.at)
        ):
            return self._section.read(tape, collector)
        return self._read_content(tape, collector, opened)

    def _headed_block(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts, before: StopMark
    ) -> Reading[StopMark]:
        """Read a block with its header; no header may come after the opening of content."""
        if before is _REASONING_CLOSE and tape.text.startswith(self._next_header, tape.at):
            tape.take(self._header_size, _MARKUP)
        if before is not _CONTENT:
            mark = yield from self._read_headers(tape, collector, opened)
            if mark is not None:
                return mark
        return (yield from self._read_content(tape, collector, opened))

    def _read_headers(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts
    ) -> Reading[StopMark | None]:
        """Read headers in other words than the template's, where a header may come."""
        while True:
            mark: StopMark | None = yield from self._headers.read(tape, collector, self._stops)
            if mark is _REASONING:
                yield from self._reasoning.read(tape, collector)
            elif mark is _CONTENT:
                opened.open_content()
                return mark
            elif mark is None or mark is _END:
                return mark

    def _read_content(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts
    ) -> Reading[StopMark]:
        """Read content up to the next stop, and return its mark, or END at the turn's end."""
        found = yield from read_prose(
            tape, self._stops, _CONTENT_SPAN, collector.content, self.turn.tail, self._joints
        )
        if found is None:
            tape.take(tape.left(), _MARKUP)
            return _END
        label = found.label
        if label is _CALLS and self._section is not None:
            # The fence around calls is the model's; the whitespace before the opener is the
            # template's.
            own = self._written_before(tape, found)
            space, fence = found.start - own, own - tape.at
            return (yield from self._section.read(tape, collector, space, fence))
        if label is _SIGN or label is _SIGN_OF_LINE:
            return (yield from self._read_sign(tape, collector, found))
        mentioned = label is _REASONING or label is _REASONING_CLOSE
        if mentioned and tape.follows(_CONTENT_SPAN):
            offset = tape.offset
            is_text = yield from self._is_text(tape, collector, opened, found)
            # Text that arrived meanwhile has moved the offset of the stop.
            moved = tape.offset - offset
            found = replace(found, start=found.start - moved, end=found.end - moved)
            if is_text:
                collector.content(tape.take(found.end - tape.at, _CONTENT_SPAN))
                return _CONTENT
        return (yield from self._read_stop(tape, collector, opened, found))

    def _read_sign(
        self, tape: TextTape, collector: MessageCollector, stop: FoundStop[StopMark]
    ) -> Reading[StopMark]:
        """Read calls of which a sign was found; without any the sign is content."""
        begin, start = tape.offset + stop.start, tape.offset + stop.end
        space = tape.text[tape.at : stop.start]
        before = space[-1:] or collector.last_character
        # A sentence that mentions a marker quotes it, or goes on in the same line.
        text = before in _QUOTES or (
            stop.label is _SIGN_OF_LINE and "\n" not in space and self._is_line_of_text(collector)
        )
        section = None if text else self._section
        if section is not None and (yield from section.recover(tape, collector, closes=True)):
            ended = yield from section.ends_turn(tape, collector)
            return _END if ended else _CALLS
        found = replace(stop, start=begin - tape.offset, end=start - tape.offset)
        if tape.closed and not tape.complete and self._stops.unsure(tape.text, found, tape.at):
            # The output is truncated inside a longer marker that begins with this sign.
            collector.content(tape.take(begin - tape.position, _CONTENT_SPAN))
            tape.take(tape.left(), _MARKUP)
            collector.status = Status.CUT
            return _END
        # Something began here that could not be read, whatever becomes of its text.
        if collector.broken_at is None:
            collector.broken_at = begin
        if collector.choices.markup == "keep" or text or stop.label is _SIGN_OF_LINE:
            collector.content(tape.take(start - tape.position, _CONTENT_SPAN))
        else:
            collector.unread(tape.take(start - tape.position, SpanKind.JUNK))
        return _CONTENT

    def _is_line_of_text(self, collector: MessageCollector) -> bool:
        """Return whether the last line of the content is more than markup, known or not."""
        line = collector.content_end(_LONGEST_LINE).rpartition("\n")[2]
        return self._section is not None and not self._section.recovery.is_markup(line)

    def _read_stop(
        self,
        tape: TextTape,
        collector: MessageCollector,
        opened: OpenParts,
        stop: FoundStop[StopMark],
    ) -> Reading[StopMark]:
        """Continue after a stop in the content; return the mark read, or END if the turn ended."""
        turn = self.turn
        found_text = stop.text
        stray = opened.strays(stop.label, found_text, collector.last)
        self._take(tape, collector, stop, stray=stray)
        if stop.label in (_END, _REASONING, _CONTENT):
            collector.drop_blank()
        if stop.label is _END:
            # In some formats each part is a turn, with an end and a header of its own.
            goes_on = turn.goes_on and found_text not in self._final_ends
            if not (goes_on and (yield from behind_space_any(tape, self._goes_on))):
                collector.ended = True
                yield from skip_written(tape, self._behind_end.get(found_text, ""))
                return _END
            yield from skip_space(tape)
            return _HEADER
        if stop.label is _CONTENT:
            opened.open_content()
        if stop.label is _REASONING:
            yield from self._reasoning.read(tape, collector)
            return _REASONING_CLOSE
        if found_text in self._opens:
            yield from skip_again(tape, self._opens[found_text])
        behind = self._behind(stop.label, found_text)
        space = (yield from skip_written(tape, behind)) if behind else ""
        if stop.label is _HEADER:
            yield from self._headers.skip_role(tape)
        if stop.label is _REASONING_CLOSE:
            collector.reasoning_marker(space)
        # After a stray closer the content continues without a header.
        return _CONTENT if stray else stop.label

    def _written_before(self, tape: TextTape, stop: FoundStop[StopMark]) -> int:
        """Return the offset of the template's own whitespace before calls, behind any fence."""
        if "`" not in tape.text[tape.at : stop.start]:
            return tape.at
        return self._stops.written_before(tape.text, stop, tape.at, fence=False)

    def _behind(self, label: StopMark, text: str) -> str:
        """Return the whitespace written after a stop; content may have several openings."""
        opener = self._opens.get(text) if label is _CONTENT else None
        return self._written_behind[label] if opener is None else opener.after

    def _is_text(
        self,
        tape: TextTape,
        collector: MessageCollector,
        opened: OpenParts,
        stop: FoundStop[StopMark],
    ) -> Reading[bool]:
        """Return whether a marker of reasoning inside content is only mentioned.

        So does an opener inside a line, or one that stands there otherwise than the template writes
        it, and a closer where reasoning has closed before, what would have opened it was text, or a
        space or a quote stands before it in its line.
        """
        reasoning = self.turn.reasoning
        if reasoning is None or self._headers.frame is not None:
            return False
        space = tape.text[tape.at : stop.start]
        within_line = "\n" not in space and collector.within_line
        if stop.label is _REASONING_CLOSE:
            text = stop.text
            spoken_of = within_line and collector.last_character in _BEFORE_QUOTED
            closed = collector.reasoning_end is not None or opened.quoted or spoken_of
            return closed and opened.strays(stop.label, text, collector.last)
        behind = tape.offset + stop.end
        # An empty block at the end is not within a sentence, so it is not a quotation.
        if (yield from self._ends_empty(TextLookahead(tape, behind))):
            return False
        opened.quoted = within_line
        after = reasoning.open.after
        if not opened.quoted and after:
            ahead = TextLookahead(tape, behind)
            opened.quoted = (yield from ahead.among((after, "\r\n"))) is None
        return opened.quoted

    def _ends_empty(self, ahead: TextLookahead) -> Reading[bool]:
        """Return whether reasoning closes at once, and the turn or the text ends behind it."""
        reasoning = self.turn.reasoning
        if reasoning is None or not (yield from ahead.row(reasoning.close.units or ("\0",))):
            return False
        yield from ahead.space()
        return (yield from ahead.ended()) or (yield from ahead.among(self._behind_end)) is not None

    def _take(
        self,
        tape: TextTape,
        collector: MessageCollector,
        stop: FoundStop[StopMark],
        *,
        stray: bool,
    ) -> None:
        """Take a stop and the whitespace that is written before it."""
        taken = tape.take(stop.end - tape.at, SpanKind.JUNK if stray else _MARKUP)
        closes = stop.label is _REASONING_CLOSE
        if closes or stop.label is _REASONING:
            collector.reasoning_marker(taken)
        if stray:
            collector.strays = True
        elif closes:
            collector.close_reasoning(tape.position)
        if closes:
            collector.last = _REASONING_PART


def _call_start(turn: TurnTree) -> str:
    """Return the text that the template writes before the first call's name."""
    calls = turn.strict.calls
    return "" if calls is None else f"{calls.section_open}{written_start(calls.row)}".lstrip()


def _sure_opening(turn: TurnTree, stops: StopTable[StopMark]) -> tuple[str, ...]:
    """Return the text that the template writes before a call if it is sure to open one."""
    text = _call_start(turn)
    found = stops.find(text, 0)
    if found is None or found.start or found.label is not _CALLS:
        return ()
    return () if stops.unsure(text, found, 0) else (text,)


def _sure_header(text: str, turn: TurnTree, stops: StopTable[StopMark]) -> tuple[str, ...]:
    """Return a text if it begins with the turn's header, and not with a longer stop."""
    found = stops.find(text, 0)
    if found is None or found.label is not _HEADER or found.text != turn.header.core:
        return ()
    return () if found.start or stops.unsure(text, found, 0) else (text,)


_QUOTES = tuple("`'\"(")
"""Characters before markup of calls that a sentence mentions."""
_LONGEST_LINE = 256
"""Characters in front of a sign that may be markup alone."""
_BEFORE_QUOTED = tuple(" \t`'\"(")
"""Characters before a marker that a sentence mentions."""


_READERS: IdentityCache[TurnReader] = IdentityCache(256)
