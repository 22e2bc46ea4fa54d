"""Read a tool call that is one JSON object, its members in any order.

    {"name": "f", "arguments": {"a": 1}}  ->  the name, the id and the arguments of a call

The names of the members are the format's, or those of OpenAI's messages (`message_call`).

A call whose JSON is truncated: `JsonReader` passes arguments on as they arrive, so a prefix such as
`{"city": "Os` has reached the collector when the text ends. `read` then returns `CallEnd.CUT`, or
`NO_CALL` if the text only may be a call. If the output is complete and only brackets behind the
last argument are missing, it adds them: the call is `repaired`. The status of the message is set
above this module: `SectionReader._cut` sets `Status.CUT`, and `MessageCollector` returns the call
that is still open as `partial_call`.
"""

from __future__ import annotations

import re

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import json_notation
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.lazy_names import lazy_pattern

from .argument_reader import read_arguments
from .call_ends import CallEnd, CallSurroundings
from .json_text import Emit, ReadOutcome, ignore, is_json_string, read_json
from .message_collector import MessageCollector
from .parsed_message import Status
from .prose_reader import close_fence, open_fence
from .stop_marks import call_open
from .text_lookahead import (
    TextLookahead,
    at_any,
    at_text,
    read_literal,
    skip_space,
    take_text,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_nodes import ArgumentList, FunctionName, JsonCall, RowCall

# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_CLOSED, _CUT, _NO_CALL = CallEnd.CLOSED, CallEnd.CUT, CallEnd.NO_CALL
_BAD, _CUT_OFF, _REPAIRED = ReadOutcome.BAD, ReadOutcome.CUT, ReadOutcome.REPAIRED
_MARKUP, _NAME = SpanKind.MARKUP, SpanKind.NAME

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
        self.seen: set[str] = set()
        """The keys of members that came, each way to name the arguments as the format's."""
        self.repaired = False
        self.other: str | None = None
        """The bracket of the first object or array under a key that the format does not have, as
        one that is misspelled; empty if such keys have other values, None without such keys."""
        self._follows = around.continuation.after([call.after], "")
        self.stops = (*call.after.units[: call.after.is_marked], *around.stops)
        """Markers before which braces may be missing: those that begin a call alone."""

    def read(self, begun: tuple[str, str] | None = None) -> Reading[CallEnd]:
        """Read to the close of the call, from its opening or, if it has `begun`, its arguments."""
        if begun is not None:
            self.name = begun[0]
            self.seen = {self.call.name_field, self.call.arguments_field}
            ended = self._open() or (yield from self._arguments())
            return ended or (yield from self._rest("", begun=True))
        if self.call.before.core and not (yield from read_literal(self.tape, self.call.before)):
            # A second object may follow the first without an opener of its own.
            yield from skip_space(self.tape)
            if (yield from at_any(self.tape, ("{", "["))) is None:
                return self._unread()
        fence = yield from open_fence(self.tape)
        yield from skip_space(self.tape)
        return (yield from self._rest(fence))

    def _rest(self, fence: str, *, begun: bool = False) -> Reading[CallEnd]:
        """Read the object behind the opening of a `fence`, to the end of the call."""
        ended = yield from self._object(inner=False, begun=begun)
        if ended is not _CLOSED:
            return ended
        if not self.collector.calling:
            return _NO_CALL
        if not self.is_filled and not self.early and self.other:
            return self._unread()
        if not self.is_filled:
            # The call may have arguments after all, under a misspelled key or after it.
            self.repaired = self.repaired or not self.early
            self.collector.arguments("".join(self.early) or "{}")
        status = Status.REPAIRED if self.repaired else Status.OK
        yield from close_fence(self.tape, fence)
        if self.call.after.core and not (yield from read_literal(self.tape, self.call.after)):
            if self.tape.cut and not self.tape.complete:
                return self._cut()
            # Engines strip a closer that also ends the turn, so its absence is not a repair.
            if self.tape.left() or self.call.after.core not in self.around.ends:
                status = Status.REPAIRED
        self.collector.close_call(status)
        return _CLOSED

    def _object(self, *, inner: bool, begun: bool = False) -> Reading[CallEnd]:
        """Read the call's object, or the one inside it; members were read of one that has `begun`.

        Each member comes behind one comma, unless it is the first, behind the brace.
        """
        if not begun and not (yield from take_text(self.tape, "{")):
            return self._unread()
        separated = not begun
        while True:
            yield from skip_space(self.tape)
            if not (yield from self.tape.wait(1)):
                return self._at_end()
            char = self.tape.text[self.tape.at]
            if char in "},":
                self.tape.take(1, _MARKUP)
                self.repaired = self.repaired or separated
                separated = char == ","
                if separated:
                    continue
                return _CLOSED
            if self.collector.calling and (yield from self._behind(char)):
                self.repaired = True
                # Without the brace, more arguments may have been meant to come.
                return _NO_CALL if self.collector.lacks_argument else _CLOSED
            if char not in "\"'":
                return _NO_CALL
            self.repaired = self.repaired or not separated
            separated = False
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
        read = self.collector.calling and self.is_filled and not self.collector.lacks_argument
        if not self.tape.complete or not read:
            return self._cut()
        self.repaired = True
        return _CLOSED

    def _member(self, *, inner: bool) -> Reading[CallEnd | None]:
        naming = self.call.name_is_key and not inner and self.name is None
        key = yield from self._string(_NAME if naming else _MARKUP)
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
        # OpenAI's messages nest the call in `function`, even if the template does not.
        nested = key == (call.function_field or _FUNCTION)
        if nested and self.name is None and (yield from at_text(self.tape, "{")):
            ended = yield from self._object(inner=True)
            return None if ended is _CLOSED else ended
        return (yield from self._inner(key))

    def _name_is_key(self, key: str) -> Reading[CallEnd | None]:
        # The first key was the name, so another one is skipped with its value.
        if self.name is not None:
            self.repaired = True
            return (yield from self._value(ignore))
        self.name = key
        refused = self._open()
        return refused if refused is not None else (yield from self._arguments())

    def _inner(self, key: str) -> Reading[CallEnd | None]:
        call = self.call
        filled = self.is_filled or bool(self.early)
        holds = key == call.arguments_field or (yield from self._names_arguments(key))
        # Of two members of one meaning, the first one counts.
        meant = call.arguments_field if holds else key
        self.repaired = self.repaired or meant in self.seen
        self.seen.add(meant)
        if key == call.name_field and self.name is None:
            name = yield from self._string(_NAME)
            if name is None:
                return (yield from self._unnamed())
            self.name = name
            return self._open()
        if holds and not filled:
            return (yield from self._arguments())
        if call.id_field and key == call.id_field:
            pieces: list[str] = []
            ended = yield from self._value(pieces.append)
            # An id may also be a number, which has no quotes.
            self.id = "".join(pieces).strip('"')
            if self.collector.calling:
                self.collector.name_call(self.id)
            return ended
        self.other = self.other or (yield from at_any(self.tape, ("{", "["))) or ""
        return (yield from self._value(ignore))

    def _unnamed(self) -> Reading[CallEnd]:
        """Return how a call ends whose name cannot be read.

        An offered name without its quotes, and the arguments behind it, show that it was a call.
        """
        ahead = TextLookahead(self.tape, self.tape.position)
        name = yield from ahead.among(self.around.offered or ())
        yield from ahead.among(('"', "'"))
        key = f'"{self.call.arguments_field}"'
        if name is None or not (yield from ahead.row((",", key))):
            return self._unread()
        self.collector.open_call(name)
        return _NO_CALL

    def _names_arguments(self, key: str) -> Reading[bool]:
        """Whether a member holds the arguments by the name that messages or tools have for them."""
        known = self.name is not None and self.name in (self.around.offered or ())
        return key in _ARGUMENTS and known and (yield from at_text(self.tape, "{"))

    def _open(self) -> CallEnd | None:
        """Open the call once its name is known."""
        name = self.name or ""
        offered = self.around.offered
        if self.around.last_part(name):
            return _NO_CALL
        if not name or (self.around.tentative and (offered is None or name not in offered)):
            return _NO_CALL
        if self.around.tentative and not self.early:
            # Without arguments, this may be any object with a name.
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
        return self._cut() if self.tape.cut else _NO_CALL

    def _cut(self) -> CallEnd:
        """Return how a call ends that the end of the text cuts; it may not be a call."""
        sure = not self.around.tentative or self.collector.calling
        return _CUT if sure else _NO_CALL

    def _value(self, emit: Emit) -> Reading[CallEnd | None]:
        outcome = yield from read_json(self.tape, emit, self.around.stops)
        return self._end_of(outcome)

    def _end_of(self, outcome: ReadOutcome) -> CallEnd | None:
        if outcome is _BAD:
            return _NO_CALL
        if outcome is _CUT_OFF:
            return self._cut()
        self.repaired = self.repaired or outcome is _REPAIRED
        return None

    def _string(self, kind: SpanKind = _MARKUP) -> Reading[str | None]:
        """Read a quoted string as a span of this kind, or return None if there is no string."""
        while True:
            text = self.tape.text
            match = _STRING.match(text, self.tape.at)
            if match:
                self.tape.take(1, _MARKUP)
                self.tape.take(match.end() - self.tape.at - 1, kind)
                self.tape.take(1, _MARKUP)
                escaped = match[1] is not None and "\\" in match[1]
                self.repaired = self.repaired or (escaped and not is_json_string(match[0]))
                return _UNESCAPE.sub(_unescape, match.group(1) or match.group(2) or "")
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
"""The key of a call's function in OpenAI's messages, and of its name and arguments."""
_ARGUMENTS = frozenset({"arguments", "parameters"})
"""The keys of arguments in OpenAI's messages, and of parameters in tools."""
_STRING = lazy_pattern(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_UNESCAPE = lazy_pattern(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


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
