"""Read a section of tool calls: its opening and closer, and the calls in it with separators.

    <calls>CALL, CALL</calls>  ->  `_opens`, then per call `_call` and `_another`, then `_close`

`read_call` reads one call as a row or as a JSON object. A call that cannot be read becomes content,
unless its arguments were already passed on. Models forget closers and openers, repeat them, put
calls in code fences and write them as OpenAI's messages hold them: each has its method here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallLimit
from autoparser.analysis.core.call_notation import json_notation
from autoparser.analysis.core.text_alignment import TemplateLiteral, spaced_spellings

from .argument_reader import read_arguments
from .call_ends import (
    AfterArguments,
    CallEnd,
    CallSurroundings,
    call_closers,
    entry_markers,
    section_closers,
)
from .json_text import Emit, ReadOutcome, ignore, read_json
from .message_collector import MessageCollector
from .parsed_message import Status
from .prose_reader import close_fence, fence_mark, open_fence, read_prose
from .row_call_reader import RowReader, calls_unopened
from .stop_marks import (
    StopMark,
    behind_calls,
    broken_call_stops,
    call_open,
    is_marked,
    listed_calls,
    nodes_of,
)
from .text_lookahead import (
    StopTable,
    TextLookahead,
    at_any,
    at_text,
    behind_space,
    behind_space_any,
    read_literal,
    skip_space,
    skip_written,
    take_behind_space,
    take_text,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import (
    ArgumentList,
    CallSection,
    FunctionName,
    IdentityCache,
    JsonCall,
    RowCall,
    TurnTree,
)

# A call that is one JSON object, its members in any order.


class JsonReader:
    """Reads a call that is one JSON object, its members in any order."""

    def __init__(
        self, tape: TextTape, call: JsonCall, around: CallSurroundings, collector: MessageCollector
    ) -> None:
        self.tape, self.call, self.around, self.collector = tape, call, around, collector
        self.name: str | None = None
        self.id = ""
        self.early: list[str] = []
        self.is_filled = False
        self.repaired = False
        self._follows = around.continuation.after([call.after], "")
        self.stops = (*call.after.units[: call.after.is_marked], *around.stops)
        """Markers before which braces may be missing: those that nothing else stands before."""

    def read(self) -> Reading[CallEnd]:
        """Read from the opening of the call to its close."""
        if self.call.before.core and not (yield from read_literal(self.tape, self.call.before)):
            # A second object may follow the first without an opener of its own.
            yield from skip_space(self.tape)
            if (yield from at_any(self.tape, ("{", "["))) is None:
                return self._unread()
        fence = yield from open_fence(self.tape)
        yield from skip_space(self.tape)
        yield from self._bracket(("[", "{"))
        yield from self._bracket(("{", "{"))
        ended = yield from self._object(inner=False)
        if ended is not CallEnd.CLOSED:
            return ended
        if not self.collector.calling:
            return CallEnd.NO_CALL
        if not self.is_filled:
            self.collector.arguments("".join(self.early) or "{}")
        status = Status.REPAIRED if self.repaired else Status.OK
        yield from self._bracket(("}", *self.call.after.units))
        yield from self._bracket(("]", *self.call.after.units))
        yield from close_fence(self.tape, fence)
        if self.call.after.core and not (yield from read_literal(self.tape, self.call.after)):
            if self.tape.cut and not self.tape.complete:
                return self._cut()
            if self.tape.left() or self.call.after.core not in self.around.ends:
                status = Status.REPAIRED
        self.collector.close_call(status)
        return CallEnd.CLOSED

    def _bracket(self, units: Sequence[str]) -> Reading[None]:
        """Take a bracket around the objects that markers enclose, if it and these units come.

        Models write several calls as an array, and doubled braces as format strings have them.
        """
        if not (self.call.after.is_marked or self.call.before.is_marked):
            return
        ahead = TextLookahead(self.tape, self.tape.position)
        if (yield from ahead.row(units)):
            yield from skip_space(self.tape)
            self.tape.take(1, SpanKind.MARKUP)

    def _object(self, *, inner: bool) -> Reading[CallEnd]:
        """Read the members of the call's object, or of the one inside it."""
        if not (yield from take_text(self.tape, "{")):
            return self._unread()
        while True:
            yield from skip_space(self.tape)
            if not (yield from self.tape.wait(1)):
                return self._at_end()
            char = self.tape.text[self.tape.at]
            if char == "}":
                self.tape.take(1, SpanKind.MARKUP)
                return CallEnd.CLOSED
            if char == ",":
                self.tape.take(1, SpanKind.MARKUP)
                continue
            if self.collector.calling and (yield from self._behind(char)):
                self.repaired = True
                return CallEnd.CLOSED
            if char not in "\"'":
                return CallEnd.NO_CALL
            ended = yield from self._member(inner=inner)
            if ended is not None:
                return ended

    def _behind(self, char: str) -> Reading[bool]:
        """Return whether a text that follows calls comes where the object should continue."""
        if (yield from at_any(self.tape, self.stops)):
            return True
        if char in "\"'":
            return False
        ahead = TextLookahead(self.tape, self.tape.position)
        return bool((yield from self._follows(ahead)))

    def _at_end(self) -> CallEnd:
        """Return how a call ends at the end of the text: closed if only closers are missing."""
        if not self.tape.complete or not self.collector.calling or not self.is_filled:
            return self._cut()
        self.repaired = True
        return CallEnd.CLOSED

    def _member(self, *, inner: bool) -> Reading[CallEnd | None]:
        naming = self.call.name_is_key and not inner and self.name is None
        key = yield from self._string(SpanKind.NAME if naming else SpanKind.MARKUP)
        if key is None:
            return self._unread()
        yield from skip_space(self.tape)
        if not (yield from take_text(self.tape, ":")):
            return self._unread()
        yield from skip_space(self.tape)
        if not (yield from self.tape.wait(1)):
            return self._cut()
        return (yield from self._inner(key) if inner else self._outer(key))

    def _outer(self, key: str) -> Reading[CallEnd | None]:
        call = self.call
        if call.name_is_key:
            return (yield from self._name_is_key(key))
        # Messages hold what is called in a field of that name, whatever the template writes.
        nested = key == (call.function_field or _FUNCTION)
        if nested and self.name is None and (yield from at_text(self.tape, "{")):
            ended = yield from self._object(inner=True)
            return None if ended is CallEnd.CLOSED else ended
        return (yield from self._inner(key))

    def _name_is_key(self, key: str) -> Reading[CallEnd | None]:
        if self.name is not None:
            return (yield from self._value(ignore))
        self.name = key
        refused = self._open()
        return refused if refused is not None else (yield from self._arguments())

    def _inner(self, key: str) -> Reading[CallEnd | None]:
        call = self.call
        if key == call.name_field and self.name is None:
            name = yield from self._string(SpanKind.NAME)
            if name is None:
                return self._unread()
            self.name = name
            return self._open()
        if not self.is_filled and (
            key == call.arguments_field or (yield from self._names_arguments(key))
        ):
            return (yield from self._arguments())
        if key == call.id_field:
            pieces: list[str] = []
            ended = yield from self._value(pieces.append)
            self.id = "".join(pieces).strip('"')
            if self.collector.calling:
                self.collector.name_call(self.id)
            return ended
        return (yield from self._value(ignore))

    def _names_arguments(self, key: str) -> Reading[bool]:
        """Whether a member holds the arguments by the name that messages or tools have for them."""
        known = self.name is not None and self.name in (self.around.offered or ())
        return key in _ARGUMENTS and known and (yield from at_text(self.tape, "{"))

    def _open(self) -> CallEnd | None:
        """Open the call once its name is known."""
        name = self.name or ""
        offered = self.around.offered
        if not name or (self.around.tentative and (offered is None or name not in offered)):
            return CallEnd.NO_CALL
        if self.around.tentative and not self.early:
            # Without arguments it may still be any object with a name.
            return None
        self.collector.open_call(name, self.id)
        if self.early:
            self.collector.arguments("".join(self.early))
            self.early = []
            self.is_filled = True
        return None

    def _arguments(self) -> Reading[CallEnd | None]:
        if self.name is not None and not self.collector.calling:
            self.collector.open_call(self.name, self.id)
        emit = self.collector.arguments if self.collector.calling else self.early.append
        self.is_filled = self.collector.calling
        outcome = yield from read_arguments(
            self.tape,
            self.call.arguments.arguments,
            self.collector.schemas.of(self.name or ""),
            self.around.stops,
            emit,
            repairs=self.stops,
            goes_on=self._follows,
        )
        return self._end_of(outcome)

    def _unread(self) -> CallEnd:
        """Return how a call ends that could not be read."""
        return self._cut() if self.tape.cut else CallEnd.NO_CALL

    def _cut(self) -> CallEnd:
        """Return how a call ends that the end of the text cuts; it may not be a call."""
        sure = not self.around.tentative or self.collector.calling
        return CallEnd.CUT if sure else CallEnd.NO_CALL

    def _value(self, emit: Emit) -> Reading[CallEnd | None]:
        outcome = yield from read_json(self.tape, emit, self.around.stops)
        return self._end_of(outcome)

    def _end_of(self, outcome: ReadOutcome) -> CallEnd | None:
        if outcome is ReadOutcome.BAD:
            return self._unread()
        if outcome is ReadOutcome.CUT:
            return self._cut()
        self.repaired = self.repaired or outcome is ReadOutcome.REPAIRED
        return None

    def _string(self, kind: SpanKind = SpanKind.MARKUP) -> Reading[str | None]:
        """Read a quoted string, whose text has this kind; return None if there is none."""
        while True:
            text = self.tape.text
            match = _STRING.match(text, self.tape.at)
            if match:
                self.tape.take(1, SpanKind.MARKUP)
                self.tape.take(match.end() - self.tape.at - 1, kind)
                self.tape.take(1, SpanKind.MARKUP)
                return _UNESCAPE.sub(_unescaped, match.group(1) or match.group(2) or "")
            if self.tape.left() and text[self.tape.at] not in "\"'":
                return None
            if self.tape.closed:
                self.tape.fell_short()
                return None
            if self.tape.left():
                # Only another quote can end the string.
                self.tape.waits_for(text[self.tape.at])
            yield


_FUNCTION = "function"
"""What messages call the function of a call, with its name and arguments."""
_ARGUMENTS = frozenset({"arguments", "parameters"})
"""What messages call the arguments of a function, and tools what it takes."""
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_UNESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


# One call.


def read_call(
    tape: TextTape, call: RowCall | JsonCall, around: CallSurroundings, collector: MessageCollector
) -> Reading[CallEnd]:
    """Read one call from its opening literal to its close, as a row or as a JSON object."""
    if isinstance(call, JsonCall):
        return (yield from JsonReader(tape, call, around, collector).read())
    return (yield from RowReader(tape, call, around, collector).read())


def message_call(call: RowCall) -> JsonCall | None:
    """Return the JSON call that a model may write for a row, as OpenAI's messages hold it."""
    lists = [item for item in call.row if isinstance(item, ArgumentList)]
    names = [item for item in call.row if isinstance(item, FunctionName)]
    if not lists or not names:
        return None
    notation = json_notation()
    last = call.row[-1]
    return JsonCall(
        before=call_open(call),
        name=names[0],
        arguments=ArgumentList(ArgumentFormat(notation.object, notation, verbatim=True)),
        after=TemplateLiteral.of(last.markers[-1])
        if isinstance(last, TemplateLiteral) and last.is_marked
        else TemplateLiteral(),
        name_field="name",
        arguments_field="arguments",
        id_field="id",
    )


def at_message_call(
    ahead: TextLookahead, opens: Sequence[str], names: Collection[str]
) -> Reading[bool]:
    """Return whether markers, some of them perhaps missing, lead to a call as messages hold it."""
    for unit in opens:
        yield from ahead.row((unit,))
    yield from ahead.row(("[",))
    if not (yield from ahead.row(("{", '"name"', ":"))):
        return False
    yield from ahead.space()
    return (yield from ahead.among(f'"{name}"' for name in names)) is not None


class SectionTexts:
    """The texts around calls and their section, made once for a format."""

    def __init__(self, turn: TurnTree, section: CallSection) -> None:
        """Collect the texts of a turn's section."""
        self.stops = tuple(behind_calls(turn))
        self.call_closers = call_closers(turn, section)
        self.tentative = not is_marked(section)
        self.closers = section_closers(turn, section)
        self.inner_closers = tuple(
            each for each in self.call_closers if each not in section.close.units
        )
        self.call_marks = (*self.inner_closers, *entry_markers(section.call))
        opening = call_open(section.call)
        texts = (opening.trigger, section.close.core, *(end.core for end in turn.ends))
        self.ends = texts[1:]
        self.noise: StopTable[None] | None = None
        """The texts that end noise before the first call, or None if there may be none."""
        if opening.noticed_by_marker:
            self.noise = StopTable([("", text, None) for text in texts])
        self.opening_units = (*section.open.units, *opening.units)
        lead = "".join(rf"(?:{re.escape(unit)}\s*)?" for unit in self.opening_units)
        self.before_object = re.compile(rf"\s*{lead}(?:\[\s*)?")
        other = message_call(section.call) if isinstance(section.call, RowCall) else None
        self.as_messages = None if other is None else replace(section, call=other)
        """The same section with calls as OpenAI's messages hold them, or None."""


_SECTION_TEXTS: IdentityCache[SectionTexts] = IdentityCache(256)


class SectionReader:
    """Reads the calls of a turn."""

    def __init__(self, turn: TurnTree, section: CallSection) -> None:
        """Prepare to read sections of a turn."""
        self.section = section
        texts = self._texts = _SECTION_TEXTS.of(
            (*nodes_of(turn), section), turn.goes_on, lambda: SectionTexts(turn, section)
        )
        self._around = CallSurroundings(
            stops=texts.stops,
            closers=texts.call_closers,
            ends=tuple(end.core for end in turn.ends),
            section_close=section.close,
            offered=turn.offered,
            tentative=texts.tentative,
            continuation=AfterArguments(turn, section),
        )
        self._closers, self._inner_closers = texts.closers, texts.inner_closers
        self._call_marks, self._noise = texts.call_marks, texts.noise
        self._opening_units, self._before_object = texts.opening_units, texts.before_object
        self._turn, self._offered, self._ends = turn, turn.offered, texts.ends

    def read(
        self, tape: TextTape, collector: MessageCollector, space: int = 0, fence: int = 0
    ) -> Reading[bool]:
        """Read from the opening of the section or its first call; return whether the text was cut.

        `space` is the length of the template's whitespace before it. Before that come `fence`
        characters, which are content unless the fence that they open closes after the calls.
        """
        self.judge_noise(tape, collector)
        other = self._as_messages
        if other is not None and self._may_be_object(tape, fence + space):
            ahead = TextLookahead(tape, tape.position + fence + space)
            if (yield from at_message_call(ahead, self._opening_units, self._offered or ())):
                return (yield from other.read(tape, collector, space, fence))
        opening = tape.take(fence, SpanKind.CONTENT)
        collector.defer(opening)
        cut = yield from self._read(tape, collector, space, opening)
        collector.content("")
        return cut

    def _may_be_object(self, tape: TextTape, space: int) -> bool:
        """Return whether a JSON object may come after `space` characters and the opening of calls.

        Most calls are written as the template writes them: one regex match shows that if more text
        is there than the longest opener has.
        """
        text = tape.text
        opened = self._before_object.match(text, tape.at + space)
        end = len(text) if opened is None else opened.end()
        longest = max(map(len, self._opening_units), default=0)
        return len(text) - end <= longest or text[end] == "{"

    def _read(
        self, tape: TextTape, collector: MessageCollector, space: int, fence: str
    ) -> Reading[bool]:
        """Read from the whitespace before the section to the closing `fence` after it, if any."""
        begin = start = tape.position
        tape.record()
        tape.take(space, SpanKind.MARKUP)
        yield from self._lead(tape)
        opened, noise = yield from self._opens(tape)
        close = self.section.close
        if opened and close.core and (yield from self._close(tape, close)):
            # A section without calls: the text in it may be a call that cannot be read.
            if noise:
                self._give_up(tape, collector, start)
                return False
            tape.recorded()
            collector.drop_blank()
            yield from self._close_fence(tape, collector, start, fence)
            return False
        if self._holds_call(noise):
            # The opener of a call is missing, and the rest of it comes before the next call.
            self._give_up(tape, collector, start)
            start = tape.position
            tape.record()
        if not opened and self._around.tentative:
            ended = yield from self._call(tape, collector, start, first=True)
        else:
            ended = yield from self._cut_or_call(tape, collector, start, first=True)
        while not ended and self.section.limit is CallLimit.MANY:
            follows = self._another if ended is None else self._resumes
            if not (yield from follows(tape, collector, opened)):
                break
            start = tape.position
            tape.record()
            ended = yield from self._cut_or_call(tape, collector, start, first=False)
        if ended is not None:
            return ended
        closed = bool(close.core) and (yield from self._close(tape, close))
        yield from self._stray_closers(tape, collector, self._closers)
        yield from self._close_fence(tape, collector, begin, fence)
        yield from skip_written(tape, self.section.behind)
        if opened and close.core and not closed:
            collector.leave_section(tape.position)
        return False

    def _close_fence(
        self, tape: TextTape, collector: MessageCollector, behind: int, opening: str
    ) -> Reading[None]:
        """Take the closer of the fence that opened before `behind`, and leave out both."""
        if collector.deferred and (yield from close_fence(tape, fence_mark(opening))):
            collector.defer("")
            tape.relabel(behind - len(opening), SpanKind.JUNK, behind)

    def judge_noise(self, tape: TextTape, collector: MessageCollector) -> None:
        """Note a malformed call if the text after an unclosed section contains remains of one."""
        left = collector.noise()
        if left is not None and self._holds_call(left[1]):
            collector.give_up_call()
            collector.attempted(left[0], tape.position, Status.MALFORMED)

    def _holds_call(self, noise: str) -> bool:
        """Return whether a text contains a closer of a call or a marker around its arguments."""
        return any(mark in noise for mark in self._call_marks)

    def _cut_or_call(
        self, tape: TextTape, collector: MessageCollector, start: int, *, first: bool
    ) -> Reading[bool | None]:
        """Read a call, unless the text was cut before it begins."""
        if tape.cut and not tape.complete:
            return self._cut(tape, collector, start)
        return (yield from self._call(tape, collector, start, first=first))

    def _call(
        self, tape: TextTape, collector: MessageCollector, start: int, *, first: bool
    ) -> Reading[bool | None]:
        """Read a call; return None if it closed, otherwise the result of reading the section."""
        section = self.section
        surplus = section.single and bool(collector.closed_calls)
        collector.muted = surplus
        ended = yield from read_call(tape, section.call, self._around, collector)
        collector.muted = False
        if ended is CallEnd.CUT and (collector.calling or not tape.complete):
            return self._cut(tape, collector, start)
        if ended is not CallEnd.CLOSED:
            if self._give_up(tape, collector, start):
                yield from self._rest(tape, collector)
            return False
        tape.recorded()
        if surplus:
            tape.relabel(start, SpanKind.JUNK)
        else:
            collector.attempted(start, tape.position)
        collector.drop_blank()
        if not first and section.later_close.core:
            yield from self._close(tape, section.later_close)
        return None

    def _cut(self, tape: TextTape, collector: MessageCollector, start: int) -> bool:
        """End the section where the text was cut in a call or in the opening of one."""
        tape.take(tape.left(), SpanKind.MARKUP)
        tape.recorded()
        collector.flush(all_=True)
        collector.status = Status.CUT
        collector.attempted(start, tape.position, Status.CUT)
        return True

    def _stray_closers(
        self, tape: TextTape, collector: MessageCollector, closers: tuple[str, ...]
    ) -> Reading[None]:
        """Take closers of calls that have already closed."""
        while (closer := (yield from behind_space_any(tape, closers))) is not None:
            yield from skip_space(tape, SpanKind.JUNK)
            tape.take(len(closer), SpanKind.JUNK)
            collector.strays = True

    def _lead(self, tape: TextTape) -> Reading[None]:
        """Take a marker that leads to a call; if no call follows, it becomes content as well."""
        lead = yield from at_any(tape, self.section.leads if self._around.tentative else ())
        if lead is not None:
            tape.take(len(lead), SpanKind.MARKUP)
            yield from skip_space(tape)

    def _opens(self, tape: TextTape) -> Reading[tuple[bool, str]]:
        """Take the opening and noise before the first call; return if it opened, and the noise."""
        opening = self.section.open
        begun = yield from at_any(tape, spaced_spellings(opening.trigger))
        if begun is None:
            return False, ""
        # The marker alone opens calls, even if the bracket after it is missing.
        rest = opening.core[len(opening.trigger) :]
        opened = (yield from read_literal(tape, opening)) or not any(map(str.isalnum, rest))
        call = self.section.call
        if isinstance(call, RowCall) and (yield from calls_unopened(tape, call, self._offered)):
            return opened, ""
        return opened, (yield from self._skip_noise(tape))

    def _skip_noise(self, tape: TextTape) -> Reading[str]:
        """Take and return the text between a section's opening and its first call."""
        stops = self._noise
        noise = ""
        while stops is not None:
            found = stops.find(tape.text, tape.at)
            if found is not None and not tape.closed and stops.unsure(tape.text, found, tape.at):
                yield
                continue
            end = stops.safe(tape.text, tape.at) if found is None else found.start
            if tape.closed and found is None:
                return noise.strip()
            noise += tape.take(end - tape.at, SpanKind.JUNK)
            if found is not None:
                return noise.strip()
            tape.still = stops.while_begun(tape)
            yield
        return noise

    def _rest(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Read the text after a broken call as content, without the closers of the call."""
        emit, stops = collector.content, self._behind_broken
        found = yield from read_prose(tape, stops, SpanKind.CONTENT, emit)
        if found is not None and found.label is StopMark.CALLS_CLOSE:
            yield from self._stray_closers(tape, collector, self._closers)
            collector.drop_blank()

    def _give_up(self, tape: TextTape, collector: MessageCollector, start: int) -> bool:
        """End a call that cannot be read; return whether it was passed on, or is content."""
        text = tape.recorded()
        if not text and tape.left():
            text = tape.take(1, SpanKind.CONTENT)
        begun = False
        if not self._around.tentative or collector.calling:
            begun = collector.give_up_call()
            collector.attempted(start, tape.position, Status.MALFORMED)
        if begun:
            collector.drop_blank()
            return True
        tape.relabel(start, SpanKind.CONTENT)
        collector.content(text)
        return False

    def _another(self, tape: TextTape, collector: MessageCollector, opened: bool) -> Reading[bool]:
        """Return whether another call follows; take the separator before it."""
        section = self.section
        if opened:
            yield from self._stray_closers(tape, collector, self._inner_closers)
        separator = section.separator.core
        if separator and (yield from take_behind_space(tape, separator)):
            yield from skip_space(tape)
            if self._turn.header.core:
                yield from take_text(tape, self._turn.header.core)
            return True
        opens = call_open(section.call)
        if opens.core and (opened or opens.noticed_by_marker):
            wanted = opens.trigger
        elif isinstance(section.call, JsonCall) and (opened or not is_marked(section)):
            wanted = "{"
        elif opened and isinstance(section.call, RowCall):
            return (yield from self._named_call(tape, section))
        else:
            return False
        another = yield from behind_space(tape, wanted)
        if another:
            yield from skip_space(tape)
        elif isinstance(section.call, RowCall):
            return (yield from calls_unopened(tape, section.call, self._offered))
        elif collector.unclosed or not section.call.after.core:
            return (yield from self._another_object(tape, section.call))
        return another

    def _another_object(self, tape: TextTape, call: JsonCall) -> Reading[bool]:
        """Return whether an object that calls an offered tool follows without its opener."""
        ahead = TextLookahead(tape, tape.position)
        separated = yield from ahead.row((",",))
        start = ahead.at - tape.at
        if not (yield from ahead.row(("{", f'"{call.name_field}"', ":"))):
            return False
        yield from ahead.space()
        if (yield from ahead.among(f'"{name}"' for name in self._offered or ())) is None:
            return False
        if separated:
            tape.take(start, SpanKind.MARKUP)
        yield from skip_space(tape)
        return True

    def _resumes(self, tape: TextTape, collector: MessageCollector, opened: bool) -> Reading[bool]:
        """Take the rest of a broken call in a list as content; return whether another call follows.

        A call that cannot be read does not spoil its neighbors.
        """
        stops = self._listed if opened else None
        if stops is None:
            return False
        found = yield from read_prose(tape, stops, SpanKind.CONTENT, collector.content)
        if found is None or found.label is not StopMark.CALLS:
            return False
        tape.take(len(self.section.separator.core), SpanKind.MARKUP)
        yield from skip_space(tape)
        return True

    @cached_property
    def _as_messages(self) -> SectionReader | None:
        """The reader of a section whose calls are JSON objects as in messages, or None."""
        other = self._texts.as_messages
        if other is None or not self._offered or self._around.tentative:
            return None
        return SectionReader(self._turn, other)

    @cached_property
    def _behind_broken(self) -> StopTable[StopMark]:
        """The texts that end the rest of a broken call."""
        return broken_call_stops(self._turn, self._closers)

    @cached_property
    def _listed(self) -> StopTable[StopMark] | None:
        """The texts that begin the next call of a list or end it, or None if calls have markers."""
        listed = [("", text, StopMark.CALLS) for text in listed_calls(self.section, self._offered)]
        ends = [("", text, StopMark.END) for text in self._ends]
        return StopTable([*ends, *listed]) if listed else None

    def _named_call(self, tape: TextTape, section: CallSection) -> Reading[bool]:
        """Return whether a call follows that begins with its name."""
        close = section.close.units[:1]
        if close and (yield from behind_space(tape, close[0])):
            return False
        yield from skip_space(tape)
        there = yield from tape.wait(1)
        return there and (tape.text[tape.at].isalnum() or tape.text[tape.at] == "_")

    def _close(self, tape: TextTape, literal: TemplateLiteral) -> Reading[bool]:
        """Take the closer of calls if it is there: of `]</calls>` the marker alone is enough."""
        for at, unit in enumerate(literal.units):
            if (yield from behind_space(tape, unit)):
                rest = literal.core[literal.core.index(unit) :] if at else literal.core
                yield from read_literal(tape, replace(literal, core=rest))
                return True
            if any(map(str.isalnum, unit)):
                return False
        return False
