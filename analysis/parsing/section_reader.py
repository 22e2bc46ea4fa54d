"""Read a section of tool calls: its opening and closer, and the calls in it with separators.

    <calls>CALL, CALL</calls>  ->  `_opens`, then per call `_call` and `_another`, then `_close`

A call is read as a row or as a JSON object. Models forget closers and openers, repeat them, put
calls in code fences and write them in the form of OpenAI's messages: each has its method here.

Owed to `StreamParser`: a call that cannot be read becomes content only if none of its arguments
were passed on; otherwise it stays a call, with a status of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.text_alignment import (
    TemplateLiteral,
    edge_units,
    prefix_length,
    spaced_spellings,
)
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.lazy_names import lazy_pattern

from .call_ends import (
    AfterArguments,
    CallEnd,
    CallSurroundings,
    call_closers,
    section_closers,
)
from .json_call_reader import JsonReader
from .message_collector import MessageCollector
from .parsed_message import Status
from .prose_reader import close_fence, fence_mark, read_prose
from .raw_text import ArgumentTexts
from .stop_marks import (
    StopMark,
    behind_calls,
    broken_call_stops,
    call_open,
    call_opens,
    entry_markers,
    fixed_nodes,
    is_marked,
    listed_calls,
    mirrored,
    written_start,
)
from .text_lookahead import (
    MarkupJoints,
    StopTable,
    TextLookahead,
    at_any,
    behind_space,
    behind_space_any,
    read_literal,
    skip_space,
    skip_written,
    take_behind_space,
    take_text,
)
from .text_tape import Reading, SpanKind, TextHold, TextTape
from .turn_nodes import ArgumentList, CallSection, JsonCall, TurnTree
from .turn_request import IdentityCache
from .written_call import WrittenCall

if TYPE_CHECKING:
    from .call_recovery import CallRecovery
# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_CUT, _CLOSED = CallEnd.CUT, CallEnd.CLOSED
_MARKUP, _JUNK = SpanKind.MARKUP, SpanKind.JUNK
_CALLS_PART, _CALLS, _END = TurnPart.CALLS, StopMark.CALLS, StopMark.END


class _Unread(Enum):
    """The outcome for a call that could not be read."""

    CONTENT = auto()
    RECOVERED = auto()
    """Calls were found in its text and in the text after it."""
    BEGUN = auto()
    """Part of it was streamed before it broke, so it stays a call."""


_SIGNS_BETWEEN = (";", ",", "]")
_DOUBLED = {"]": "[", "}": "{", ")": "("}
"""The signs that models write once too often behind calls, by the sign that opens them."""
_CLOSING_SIGNS = lazy_pattern(r"[\]})]+")
_MOST_DOUBLED = 8
_FRONT = 2
"""Characters of a closer by which its front is noticed."""
_MOST_HELD = 65536
"""Most characters that are held for calls that are not as the format writes them."""
_LOOKED_AT = 1024
"""Characters within which the first name has to come."""
_MOST_SEARCHES = 8
"""Most places of one message from which a search finds no call: each one reads all that is held, so
that without a bound repeated openers would cost the square of their number."""


class SectionTexts:
    """The texts around calls and their section, made once for a format."""

    def __init__(self, turn: TurnTree, section: CallSection) -> None:
        """Collect the texts of a turn's section."""
        self.stops = tuple(behind_calls(turn))
        self.call_closers = call_closers(turn, section)
        self.tentative = not is_marked(section)
        self.closers = section_closers(turn, section)
        self.inner_closers = tuple(
            closer for closer in self.call_closers if closer not in section.close.units
        )
        self.signed = bool(section.close.core) and not section.close.is_marked
        """Whether a sign such as `]` closes the section, before its marker if it has one."""
        self.doubled = section.close.units[0] if self.signed else _last_sign(section)
        """The sign that closes calls and has no marker behind it, or may have lost it."""
        self.reopened = section.open.trigger if self.signed else ""
        """The opening of another section, which may begin like the marker that closes one."""
        brace = "{" if isinstance(section.call, JsonCall) else ""
        doubled = self.doubled if self.doubled in _DOUBLED else ""
        signs = (*_SIGNS_BETWEEN, brace, doubled, self.reopened, *self._fronts(turn, section))
        self.between = tuple(dict.fromkeys(sign for sign in signs if sign))
        """Texts right after a call that are junk if more calls, or the end, follow them."""
        self.leads = section.leads if self.tentative else ()
        if not self.tentative and not any(
            opening.core[:1] == "[" for opening in call_opens(section)
        ):
            self.leads = ("[",)
        self.lead_signs = frozenset(lead[:1] for lead in self.leads)
        self.call_marks = (*self.inner_closers, *entry_markers(section.call))
        call = section.call
        items = (call.arguments,) if isinstance(call, JsonCall) else call.row
        lists = (item.arguments for item in items if isinstance(item, ArgumentList))
        listed = next((written for written in lists if not written.is_object), None)
        self.entries = None if listed is None else ArgumentTexts.of(listed, (), "")
        """The texts around arguments that are written one by one."""
        opening = call_open(section.call)
        texts = (opening.trigger, section.close.core, *(end.core for end in turn.ends))
        self.ends = texts[1:]
        self.another_listed = opening.trigger or brace
        """The text with which another call in a list begins, or empty if its name does."""
        self.another = opening.trigger if opening.noticed_by_marker else brace * self.tentative
        """The same outside of a list, or empty if none is noticed there."""
        self.begun = ""
        """The opening of the section and a call's after it, as the template writes them."""
        closes = section.close.units[:1]
        if section.open.core and opening.trigger and not opening.trigger.startswith(closes):
            self.begun = f"{section.open.core}{section.open.after}{opening.trigger}"
        self.end_rests = tuple(_end_rests(turn))
        self.turn_ends: StopTable[None] = StopTable([("", end.core, None) for end in turn.ends])
        self.joints = MarkupJoints(_behind_call(turn))
        self.next_call = self._between_calls(turn, section)
        """The template's text between two calls, up to the second name; empty if ambiguous."""
        self.noise: StopTable[None] | None = None
        """The texts that end noise before the first call, or None if there may be none."""
        if opening.noticed_by_marker:
            self.noise = StopTable([("", text, None) for text in texts])

    def _between_calls(self, turn: TurnTree, section: CallSection) -> str:
        between = next(_behind_call(turn), "")
        bare = between.lstrip()
        sure = not section.separator.core and not any(
            bare.startswith(text) or text.startswith(bare) for text in self.inner_closers
        )
        begins = self.another == self.another_listed and bare.startswith(self.another)
        return between if sure and begins else ""

    def _fronts(self, turn: TurnTree, section: CallSection) -> Iterator[str]:
        """Return the fronts of closers: models cut them short, as `</tool` for `</tool_call>`."""
        yield from (closer[:_FRONT] for closer in self.closers)
        # A partial marker after a sign may also begin the turn's end, which wins.
        for marker in section.close.markers if self.signed else ():
            shared = (prefix_length(marker, end.core) for end in turn.ends)
            yield marker[: 1 + max(shared, default=1)]


def _behind_call(turn: TurnTree) -> Iterator[str]:
    """Return the texts that the template writes between two calls, and behind the last one."""
    calls = turn.strict.calls
    if calls is None:
        return
    opening = written_start(calls.row)
    if opening.strip():
        yield f"{calls.separator}{opening}"
    if calls.section_close.strip():
        yield calls.section_close


def _last_sign(section: CallSection) -> str:
    """Return the last character of a call if no section closes behind it."""
    call = section.call
    last = call.after if isinstance(call, JsonCall) else call.row[-1]
    if section.close.core:
        return ""
    if isinstance(last, TemplateLiteral) and last.core:
        return last.core[-1]
    return "}" if isinstance(call, JsonCall) or isinstance(last, ArgumentList) else ""


_SECTION_TEXTS: IdentityCache[SectionTexts] = IdentityCache(256)


def _end_rests(turn: TurnTree) -> Iterator[Sequence[str]]:
    """Return the rests of ends of several markers, of which the front may be missing."""
    for end in turn.ends:
        for at in range(1, len(end.units) if len(end.markers) > 1 else 0):
            rest = end.units[at:]
            # The rest of one end may be another end, or the beginning of one.
            if not any(other.units[: len(rest)] == rest for other in turn.ends):
                yield rest


class SectionReader:
    """Reads the calls of a turn."""

    def __init__(self, turn: TurnTree, section: CallSection) -> None:
        """Prepare to read sections of a turn."""
        self.section = section
        texts = self._texts = _SECTION_TEXTS.of(
            (*fixed_nodes(turn), section), turn.goes_on, lambda: SectionTexts(turn, section)
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
        self._listed = replace(self._around, tentative=False)
        """In a list that has begun with a call of an offered tool, others are calls, too."""
        self._closers, self._inner_closers = texts.closers, texts.inner_closers
        self._call_marks, self._noise = texts.call_marks, texts.noise
        self._turn, self._offered, self._ends = turn, turn.offered, texts.ends
        self._turn_ends, self._joints = texts.turn_ends, texts.joints
        self._next_space = len(texts.next_call) - len(texts.next_call.lstrip())
        self._many, self._encloses = section.limit is CallLimit.MANY, section.open.is_marked
        self.opener = next((literal.trigger for literal in call_opens(section)), "")
        """The text with which the format opens calls, or empty if none tells them from content."""
        self._prepared = False
        self._written: WrittenCall | None = None
        """The reader of calls that are as the template writes them, if the format has one."""
        self._next_call: tuple[str, TextHold] | None = None
        """The text up to the name of the next call, and the wait for that call's closer."""

    def _prepare(self) -> None:
        """Prepare the reader of written calls, which an output without calls never needs."""
        # A cached property would slow all other attributes.
        self._prepared = True
        written = self._written = WrittenCall.of(self.section, self._around)
        opening = self._texts.next_call
        hold = None if written is None else written.hold(opening)
        self._next_call = None if hold is None else (opening, hold)

    @cached_property
    def recovery(self) -> CallRecovery:
        """The search for calls that this reader cannot read."""
        # Most programs never need it.
        from .call_recovery import CallRecovery  # noqa: PLC0415

        return CallRecovery(self._turn, self.section, self._around)

    def recover(
        self, tape: TextTape, collector: MessageCollector, *, closes: bool = False
    ) -> Reading[bool]:
        """Take calls that are not as the format writes them; return whether there were any.

        The text is held until it is known: to the end of the turn, of the text, or to the first
        text that is neither markup nor a call. If it `closes` calls, markup alone is junk.
        """
        if not self._offered or collector.vain_searches >= _MOST_SEARCHES:
            return False
        collector.vain_searches += 1
        text = yield from self._hold_calls(tape, self.opener if closes else "")
        if text is None or (self.section.single and collector.closed_calls):
            return False
        ends = tape.closed and len(text) == tape.left()
        recovery = self.recovery.at_end() if ends else self.recovery
        found = recovery.find(text, collector.schemas, marked=closes and collector.unclosed)
        # The status then reports that `forgive="all"` would read it.
        if found is not None and found.guessed and collector.choices.forgive != "all":
            collector.needs_all = True
            found = None
        if found is None:
            behind = closes and bool(collector.closed_calls) and collector.broken_at is None
            # After a text, only a closer does not belong to the text.
            stray = collector.last is _CALLS_PART or text.lstrip().startswith(self._closers)
            junk = behind and stray and bool(text.strip()) and self.recovery.is_markup(text)
            if junk and (yield from self._another_opens(tape, len(text))):
                tape.take(len(text), _JUNK)
                collector.strays = True
                collector.vain_searches -= 1
                return True
            return False
        collector.vain_searches -= 1
        begun = tape.position
        for call in found.calls:
            for span in sorted(call.spans):
                tape.take(begun + span.start - tape.position, _MARKUP)
                tape.take(begun + span.end - tape.position, span.kind)
            start = tape.position
            tape.take(begun + call.end - tape.position, _MARKUP)
            collector.whole_call(call.name, call.arguments, call.id, call.departures)
            collector.attempted(start, tape.position)
        collector.drop_blank()
        return True

    def _another_opens(self, tape: TextTape, size: int) -> Reading[bool]:
        """Return whether a call, or nothing but the end of the turn, comes behind held markup."""
        at = tape.position + size
        while tape.text.startswith(self.opener, at - tape.offset):
            rest = tape.text[at - tape.offset :]
            opens = self.recovery.opens_call(rest)
            if opens is not None or tape.closed:
                return opens or (opens is None and not tape.complete)
            yield
        return True

    def _hold_calls(self, tape: TextTape, opener: str = "") -> Reading[str | None]:
        """Wait for the text up to the end of the turn; return None if no calls are in it.

        Calls behind the format's own `opener` are read as such, and the text ends before it.
        """
        while True:
            text = tape.text[tape.at : tape.at + _MOST_HELD]
            found = self._turn_ends.find(text, 0)
            begun = text.find(opener, 1) if opener else -1
            if begun >= 0 and (found is None or begun < found.start):
                return text[:begun]
            if found is not None and (tape.closed or not self._turn_ends.unsure(text, found, 0)):
                return text[: found.start]
            # The beginning of an end, or of the opener, may look like text without a call.
            sure = text if tape.closed else text[: self._turn_ends.safe(text, 0)]
            fronts = () if tape.closed else (opener[:size] for size in range(len(opener), 0, -1))
            sure = sure[:1] + sure[1:].removesuffix(next(filter(sure[1:].endswith, fronts), ""))
            # Plain content must not wait: no name within these characters, no call.
            if len(text) < _LOOKED_AT and not self.recovery.may_hold(sure):
                return None
            if tape.closed or len(text) == _MOST_HELD:
                return None if len(text) == _MOST_HELD else text
            if len(text) >= _LOOKED_AT:
                limit = tape.position + _MOST_HELD
                tape.still = self._turn_ends.while_absent(tape, tape.position, limit)
            yield

    def read(
        self, tape: TextTape, collector: MessageCollector, space: int = 0, fence: int = 0
    ) -> Reading[StopMark]:
        """Read from the opening of the section or its first call; return END if the text was cut.

        `space` is the length of the template's whitespace before it. Before that come `fence`
        characters, which are content unless the fence that they open closes after the calls.
        """
        if not self._prepared:
            self._prepare()
        if collector.unclosed_section is not None:
            self.judge_noise(tape, collector)
        opening = tape.take(fence, SpanKind.CONTENT) if fence else ""
        if opening:
            collector.defer(opening)
        cut = yield from self._read(tape, collector, space, opening)
        if collector.deferred:
            collector.content("")
        if cut or (self._texts.end_rests and (yield from self.ends_turn(tape, collector))):
            return _END
        if collector.last is _CALLS_PART:
            yield from self._read_on(tape, collector)
        return _CALLS

    def _read_on(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Look for more calls behind a sign between two, or the front of a closer; it is junk."""
        ahead, texts = TextLookahead(tape, tape.position), self._texts
        yield from ahead.space()
        begun = (*texts.between, *(self._offered or ()))
        found = yield from ahead.among(begun)
        if found is None or found == texts.reopened:
            return
        if found == texts.doubled and (yield from self._skip_doubled(tape, collector)):
            return
        # A bracket closes a list opened elsewhere, or is text.
        if found not in _DOUBLED or collector.strays:
            yield from self.recover(tape, collector, closes=True)

    def _skip_doubled(self, tape: TextTape, collector: MessageCollector) -> Reading[bool]:
        """Take closing signs behind the last call if nothing else follows, and none opens them."""
        ahead = TextLookahead(tape, tape.position)
        yield from ahead.space()
        signs = yield from ahead.word(_CLOSING_SIGNS, _MOST_DOUBLED)
        end = tape.offset + ahead.at
        yield from ahead.space()
        wanted = (*self._around.ends, *self._closers)
        ends = (yield from ahead.ended()) or (yield from ahead.among(wanted)) is not None
        content = collector.content_end(_MOST_HELD)
        if not (signs and ends) or any(_DOUBLED[sign] in content for sign in signs):
            return False
        if tape.closed and not tape.complete:
            return False
        tape.take(end - tape.position, _JUNK)
        collector.strays = True
        return True

    def ends_turn(self, tape: TextTape, collector: MessageCollector) -> Reading[bool]:
        """Take the rest of the turn's end whose front is missing behind calls, if it comes."""
        if collector.last is not _CALLS_PART:
            return False
        for rest in self._texts.end_rests:
            ahead = TextLookahead(tape, tape.position)
            if (yield from ahead.row(rest)):
                tape.take(ahead.at - tape.at, _MARKUP)
                collector.ended = collector.strays = True
                return True
        return False

    def _read(  # noqa: C901 - what most sections need, without a generator for each
        self, tape: TextTape, collector: MessageCollector, space: int, fence: str
    ) -> Reading[bool]:
        """Read from the whitespace before the section to the closing `fence` after it, if any."""
        begin = start = tape.offset + tape.at
        tape.record()
        tape.take(space, _MARKUP)
        text, at, texts = tape.text, tape.at, self._texts
        if at == len(text) or text[at] in texts.lead_signs:
            yield from self._lead(tape, collector)
        close = self.section.close
        opened = False
        noise: str | None = ""
        if self.section.open.core:
            opened, noise = yield from self._opens(tape)
        empty = noise is not None and opened and close.core
        if empty and (yield from self._close(tape, close)):
            yield from self._end_empty(tape, collector, start, noise or "", fence)
            return False
        if noise and self._holds_call(noise):
            # The opener of a call is missing, and the rest of that call precedes the next one.
            if (yield from self._give_up(tape, collector, start)) is _Unread.RECOVERED:
                return False
            start = tape.position
            tape.record()
        sure, bare = opened or not self._around.tentative, self._encloses and not opened
        ended = yield from self._call(tape, collector, start, sure=sure, bare=bare)
        while not ended and self._many:
            follows = self._another if ended is None else self._resumes
            if not (yield from follows(tape, collector, opened)):
                break
            if ended is not None and collector.status is not Status.MALFORMED:
                # The broken text is an element of a list of calls, even if it looks different.
                collector.status = Status.MALFORMED
                collector.attempted(start, tape.position, Status.MALFORMED)
            start = tape.position
            tape.record()
            ended = yield from self._call(tape, collector, start, first=False, opened=opened)
        if ended is not None:
            return ended is True
        closed = bool(close.core) and (yield from self._close(tape, close))
        yield from self._stray_closers(tape, collector, self._closers)
        if collector.deferred:
            yield from self._close_fence(tape, collector, begin, fence)
        if self.section.behind:
            yield from skip_written(tape, self.section.behind)
        if opened and close.core and not closed:
            collector.leave_section(tape.position)
        return False

    def _end_empty(
        self, tape: TextTape, collector: MessageCollector, start: int, noise: str, fence: str
    ) -> Reading[None]:
        """End a section without calls, of which the `noise` in it may be an unreadable call."""
        if noise:
            yield from self._give_up(tape, collector, start)
            return
        text = tape.recorded()
        if self._around.tentative and not (yield from self._is_all(tape, collector)):
            # `x = []`: where signs alone open calls, an empty list is text.
            tape.put_back(text)
            collector.content(tape.take(len(text), SpanKind.CONTENT))
            return
        collector.drop_blank()
        yield from self._close_fence(tape, collector, start, fence)

    def _is_all(self, tape: TextTape, collector: MessageCollector) -> Reading[bool]:
        """Return whether a text just taken has no content before it and the turn's end behind."""
        if collector.last is TurnPart.CONTENT or collector.deferred:
            return False
        ahead = TextLookahead(tape, tape.position)
        yield from ahead.space()
        return (yield from ahead.ended()) or (yield from ahead.among(self._around.ends)) is not None

    def _close_fence(
        self, tape: TextTape, collector: MessageCollector, behind: int, opening: str
    ) -> Reading[None]:
        """Take the closer of the fence that opened before `behind`, and leave out both."""
        if collector.deferred and (yield from close_fence(tape, fence_mark(opening))):
            collector.defer("")
            tape.relabel(behind - len(opening), _JUNK, behind)

    def judge_noise(self, tape: TextTape, collector: MessageCollector) -> None:
        """Note a malformed call if the text after an unclosed section is, or contains, one."""
        left = collector.noise()
        # A list that a sign closes breaks off if text comes in place of the sign.
        if left is not None and (
            self._holds_call(left[1]) or (self._texts.signed and left[1].strip())
        ):
            collector.give_up_call()
            collector.attempted(left[0], tape.position, Status.MALFORMED)

    def judge_content(self, tape: TextTape, collector: MessageCollector) -> None:
        """Note a malformed call if the content has one that its first marker came too late for.

        A stream had then sent its name, or what stands for it.
        """
        truncated = tape.closed and not tape.complete
        if self._around.tentative and collector.last is TurnPart.CONTENT and collector.closed_calls:
            # The markers of another format may have been around a call.
            units = [*filter(str.strip, edge_units(collector.content_end(_LOOKED_AT)))][-2:]
            around = len(units) > 1 and mirrored(units[0].strip()) == units[1].strip()
            collector.strays = collector.strays or around
        if collector.broken_at is None or collector.status is not Status.OK or truncated:
            return
        text = collector.content_end(_MOST_HELD)
        starts = self.recovery.names_in(text)[-_MOST_SEARCHES:]
        if collector.closed_calls:
            # The parsed call may be the second one of a list whose first one became text.
            starts += [max(0, text.rfind("{", 0, start)) for start in starts]
        texts = [text[start:] for start in starts]
        # Text may follow the last marker of a call if only markup leads to its name.
        ends = (text.rfind(mark) + len(mark) for mark in self.recovery.markers if mark in text)
        closed = text[: max(ends, default=0)]
        # Behind a backtick it may be quoted.
        unquoted = (start for start in starts if "`" not in text[:start])
        texts += [closed[start:] for start in unquoted if self._is_opened(text[:start])]
        found = (self.recovery.find(text, collector.schemas) for text in texts)
        whole = any(call is not None and not call.guessed for call in found)
        # A call whose opener and name are misspelled still ends with a bracket and its closer.
        if whole or self.recovery.ends_call(text.rstrip()):
            collector.status = Status.MALFORMED
            collector.attempted(collector.broken_at, tape.position, Status.MALFORMED)

    def _is_opened(self, text: str) -> bool:
        """Return whether the last line of a text before a name is an opener, perhaps misspelled."""
        line = text.rpartition("\n")[2]
        return self.recovery.is_markup(line) or self.recovery.nearly_opens(line)

    def _holds_call(self, noise: str) -> bool:
        """Return whether a text contains a closer of a call or a marker around its arguments."""
        return any(mark in noise for mark in self._call_marks)

    def _call(
        self,
        tape: TextTape,
        collector: MessageCollector,
        start: int,
        *,
        first: bool = True,
        opened: bool = False,
        sure: bool = True,
        bare: bool = False,
    ) -> Reading[bool | _Unread | None]:
        """Read a call; return None if it closed, otherwise the result of reading the section.

        If a call is `sure` to come, the end of a cut text ends the section before it. A `bare` one
        lacks the opener of its section.
        """
        if sure and tape.closed and tape.cut and not tape.complete:
            return self._cut(tape, collector, start)
        section = self.section
        # It is read all the same, so that the text after it is known.
        surplus = section.single and bool(collector.closed_calls)
        collector.muted = surplus
        around = self._listed if opened and section.close.core else self._around
        reader, ended = self._written, _CLOSED
        listed = not bare and (first or opened)
        written = reader if reader is not None and (listed or not reader.enclosed) else None
        # One wait for the closer in place of one for each token; it may end before the closer.
        if written is not None and written.holds(tape):
            yield
        if written is not None and written.holds_next(tape):
            yield
        if written is None or not written.take(tape, collector):
            ended = yield from self._read_stepwise(tape, collector, around, written)
        elif written.space:
            yield from skip_written(tape, written.space)
        collector.muted = False
        if ended is _CUT and (
            collector.calls_offered
            or not tape.complete
            # After a separator another call was to come, whatever its name, unless the turn ended.
            or (
                not first
                and section.separator.core
                and self._turn_ends.find(tape.text, start - tape.offset) is None
            )
        ):
            return self._cut(tape, collector, start)
        if ended is not _CLOSED:
            return (yield from self._leave(tape, collector, start, sure=not around.tentative))
        text = tape.recorded()
        if surplus:
            tape.relabel(start, _JUNK)
        else:
            self._judge_call(collector, text, bare=bare)
            collector.attempted(start, tape.offset + tape.at)
        collector.drop_blank()
        if not first and section.later_close.core:
            yield from self._close(tape, section.later_close)
        return None

    def _leave(
        self, tape: TextTape, collector: MessageCollector, start: int, *, sure: bool
    ) -> Reading[bool | _Unread]:
        """Leave a call that cannot be read; return the result of reading the section."""
        unread = yield from self._give_up(tape, collector, start, sure=sure)
        if unread is _Unread.BEGUN:
            yield from self._rest(tape, collector)
        return unread if unread is _Unread.RECOVERED else False

    def _read_stepwise(
        self,
        tape: TextTape,
        collector: MessageCollector,
        around: CallSurroundings,
        written: WrittenCall | None,
    ) -> Reading[CallEnd]:
        """Return the reader of a call that is long, or that departs from the template."""
        call = self.section.call
        # A long call begins as the template writes it, too: only its arguments need the reader.
        begun = None if written is None else written.begin(tape)
        if isinstance(call, JsonCall):
            return JsonReader(tape, call, around, collector).read(begun)
        # Most formats have only calls of the other kind.
        from .row_call_reader import RowReader  # noqa: PLC0415

        return RowReader(tape, call, around, collector).read(begun)

    def _judge_call(self, collector: MessageCollector, text: str, *, bare: bool) -> None:
        """Judge the last closed call: swallowed arguments first, then missing markup."""
        entries = self._texts.entries
        if entries is not None:
            collector.judge_call(text, entries.swallowed, entries.holds_entry)
        if bare or collector.interrupted:
            collector.repair_call()
            collector.interrupted = False

    def _cut(self, tape: TextTape, collector: MessageCollector, start: int) -> bool:
        """End the section where the text was cut in a call or in the opening of one."""
        tape.take(tape.left(), _MARKUP)
        tape.recorded()
        collector.flush(all_=True)
        collector.status = Status.CUT
        collector.attempted(start, tape.position, Status.CUT)
        return True

    def _stray_closers(
        self, tape: TextTape, collector: MessageCollector, closers: tuple[str, ...]
    ) -> Reading[None]:
        """Take closers of calls that have already closed."""
        while closers and (closer := (yield from behind_space_any(tape, closers))) is not None:
            yield from skip_space(tape, _JUNK)
            tape.take(len(closer), _JUNK)
            collector.strays = True

    def _lead(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Take what leads to a call; if no call follows, it becomes content as well.

        That is a marker, or the bracket of a list of calls that the format does not write.
        """
        lead = yield from at_any(tape, self._texts.leads)
        if lead is not None:
            collector.strays = collector.strays or not self._around.tentative
            tape.take(len(lead), _MARKUP)
            yield from skip_space(tape)

    def _opens(self, tape: TextTape) -> Reading[tuple[bool, str | None]]:
        """Take the opening and noise before the first call; return if it opened, and the noise.

        The noise is None if a call is sure to follow.
        """
        opening, written = self.section.open, self._texts.begun
        if written and tape.text.startswith(written, tape.at):
            tape.take(len(opening.core) + len(opening.after), _MARKUP)
            return True, None
        begun = yield from at_any(tape, spaced_spellings(opening.trigger))
        if begun is None:
            return False, ""
        # The marker alone opens calls, even if the bracket after it is missing.
        rest = opening.core[len(opening.trigger) :]
        opened = (yield from read_literal(tape, opening)) or not any(map(str.isalnum, rest))
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
            noise += tape.take(end - tape.at, _JUNK)
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

    def _give_up(
        self, tape: TextTape, collector: MessageCollector, start: int, *, sure: bool = True
    ) -> Reading[_Unread]:
        """End a call that cannot be read: others are recovered from its text, or it is content.

        Unless it is `sure`, only an open call shows that the text is not content anyway.
        """
        text = tape.recorded()
        # Nothing was passed on, so the text can still become another call, or content.
        if not collector.has_begun:
            sure = sure or collector.calling
            collector.drop_call()
            tape.put_back(text)
            if (yield from self.recover(tape, collector)):
                return _Unread.RECOVERED
            # At least one character, or the same opening would be found again.
            text = tape.take(len(text) or min(1, tape.left()), SpanKind.CONTENT)
            if sure:
                collector.give_up_call()
                collector.attempted(start, tape.position, Status.MALFORMED)
            if collector.choices.markup == "keep" or not sure:
                collector.content(text)
                return _Unread.CONTENT
            collector.unread(text)
            tape.relabel(start, _JUNK)
            stops = self._behind_broken
            found = yield from read_prose(tape, stops, _JUNK, collector.unread)
            if found is not None and found.label is StopMark.CALLS_CLOSE:
                yield from self._stray_closers(tape, collector, self._closers)
            return _Unread.CONTENT
        collector.give_up_call()
        collector.attempted(start, tape.position, Status.MALFORMED)
        collector.drop_blank()
        return _Unread.BEGUN

    def _another(self, tape: TextTape, collector: MessageCollector, opened: bool) -> Reading[bool]:
        """Return whether another call follows; take the separator before it."""
        section, following = self.section, self._texts.next_call if self._texts.another else ""
        tape.still = None if tape.closed else self._joints.while_begun(tape, self._next_call)
        if tape.still is not None:
            yield
        if following and tape.text.startswith(following, tape.at):
            tape.take(self._next_space, _MARKUP)
            return True
        if opened:
            yield from self._stray_closers(tape, collector, self._inner_closers)
        separator = section.separator.core
        if separator and (yield from take_behind_space(tape, separator)):
            yield from skip_space(tape)
            # A separator behind the last call loses nothing.
            if (yield from at_any(tape, (*section.close.units[:1], *self._ends))) is not None:
                collector.strays = True
                return False
            # Where each call is a turn, a model may write the header again.
            if self._turn.header.core:
                yield from take_text(tape, self._turn.header.core)
            return True
        wanted = self._texts.another_listed if opened else self._texts.another
        if not wanted:
            return opened and (yield from self._named_call(tape, section))
        another = yield from behind_space(tape, wanted)
        if another and not tape.text.startswith(wanted, tape.at):
            yield from skip_space(tape)
        return another

    def _resumes(self, tape: TextTape, collector: MessageCollector, opened: bool) -> Reading[bool]:
        """Take the rest of a broken call in a list as content; return whether another call follows.

        A call that cannot be read does not spoil its neighbors.
        """
        stops = self._list_stops if opened else None
        if stops is None:
            return False
        found = yield from read_prose(tape, stops, SpanKind.CONTENT, collector.content)
        if found is None or found.label is not StopMark.CALLS:
            return False
        tape.take(len(self.section.separator.core), _MARKUP)
        yield from skip_space(tape)
        return True

    @cached_property
    def _behind_broken(self) -> StopTable[StopMark]:
        """The texts that end the rest of a broken call."""
        return broken_call_stops(self._turn, self._closers)

    @cached_property
    def _list_stops(self) -> StopTable[StopMark] | None:
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
                core = literal.core
                rest = replace(literal, core=core[core.index(unit) :]) if at else literal
                yield from read_literal(tape, rest)
                return True
            # Signs before the marker may be missing, the marker may not.
            if any(map(str.isalnum, unit)):
                return False
        return False
