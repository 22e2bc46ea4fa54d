"""Collect the texts and calls that the readers find into deltas and, at the end, the message.

Readers call `reasoning`, `content`, `open_call`, `arguments`, `close_call`; `take` returns the new
deltas and `message` the message so far.

Owed to `StreamParser`: `message` is the sum of the deltas that `take` returned and of the text that
is still held back. Two kinds of text are: whitespace until text comes after it, since the
template may strip it, and a call until `_BEGUN` characters of its arguments have come or it has
closed, so that most broken calls turn into content without a delta that a client cannot roll back.

The name and the beginning of the arguments wait for the end of a short call:

    >>> collector = MessageCollector(None, CallSchemas({}), MessageChoices(CallIds(seed=1)))
    >>> collector.open_call("f")
    >>> collector.arguments('{"a": 1}')
    >>> collector.take()
    []
    >>> collector.close_call(Status.OK)
    >>> [(delta.kind.value, delta.text) for delta in collector.take()]
    [('call', 'f'), ('arguments', '{"a": 1}')]
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.turn_parts import TurnPart

from .json_text import missing_closers
from .parsed_message import (
    CallAttempt,
    Delta,
    DeltaKind,
    FinishReason,
    Forgiven,
    MarkupIn,
    ParsedCall,
    ParsedMessage,
    ReasoningIn,
    Status,
)
from .text_tape import LaneSink, Span, TextTape, plain_sink
from .turn_request import CallSchemas

if TYPE_CHECKING:
    from random import Random

# Ids of calls that are written without one.


_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_UNUSED = bytes(range(256 - 256 % len(_SIGNS), 256))
_SIGN_OF_BYTE = "".join(_SIGNS[byte % len(_SIGNS)] for byte in range(256)).encode("ascii")
_LENGTH = 9
"""Some templates require ids of nine letters and digits; others accept any."""
_MOST_DRAWN = 64


class CallIds:
    """Makes ids for calls; the ids of one maker differ, whichever turns they are for.

    With a seed the sequence of ids is the same each time, so two makers with one seed make the same
    ids: give one maker to all parsers of a conversation. Without a seed they also differ from those
    of other makers: among a million ids two are equal in one case of 27,000.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Make a maker; with a `seed` its sequence of ids is repeatable."""
        self._source: Random | None = None
        if seed is not None:
            from random import Random  # noqa: PLC0415 - few parsers have a seed

            self._source = Random(seed)

    def __call__(self, name: str, index: int) -> str:
        """Make an id for a call of this function, with this number in its message."""
        # Only the makers that callers pass look at them.
        del name, index
        if self._source is not None:
            return "".join(self._source.choices(_SIGNS, k=_LENGTH))
        while True:
            try:
                return _DRAWN.pop()
            except IndexError:
                # Use only as many byte values as give every sign the same probability.
                signs = os.urandom(_MOST_DRAWN * _LENGTH).translate(_SIGN_OF_BYTE, _UNUSED)
                text = signs.decode("ascii")
                ends = range(_LENGTH, len(text) + 1, _LENGTH)
                _DRAWN.extend(text[end - _LENGTH : end] for end in ends)


UNIQUE_IDS = CallIds()
"""The maker of all parsers without one."""
_DRAWN: list[str] = []
"""Ids that no call has yet: many are drawn at once, since each draw asks the system."""
if hasattr(os, "register_at_fork"):
    # A forked process would give the ids of its parent to calls of its own.
    os.register_at_fork(after_in_child=_DRAWN.clear)


class MessageChoices(Struct, frozen=True):
    """Choices of a caller for the messages of a parser."""

    make_id: Callable[[str, int], str]
    """Makes an id where none is written, from the call's name and its index, e.g. `UNIQUE_IDS`."""
    reasoning: ReasoningIn = "separate"
    """Where reasoning goes, e.g. "inline"."""
    whole_calls: bool = False
    """Whether a call is passed on only once it closed."""
    forgive: Forgiven = "repairs"
    """Which departures from the format are allowed, e.g. "repairs"."""
    markup: MarkupIn = "keep"
    """How markup in content is handled, e.g. "keep"."""
    holds_reasoning: bool = False
    """Whether reasoning is passed on once it has closed, and is content if nothing closes it."""


TRIAL_CHOICES = MessageChoices(lambda _, __: "", whole_calls=True)
"""Choices for a trial reading, which only finds out whether a text is a call."""


class _Prose(Struct):
    """A text whose leading whitespace is held back until other text comes."""

    kind: DeltaKind
    """The field of the message, `DeltaKind.CONTENT` or `DeltaKind.REASONING`."""
    pieces: list[str] = []
    """The text that was passed on, e.g. ["Use", " <tool_call> ", "to call."]."""
    waiting: str = ""
    r"""Whitespace that waits for text after it, e.g. "\n\n"."""
    fresh: bool = True
    """No text came yet, or none since a call, e.g. True behind "</tool_call>": whitespace waits for
    the text after it."""

    def text(self) -> str | None:
        """Return the whole text, or None if there was only whitespace."""
        return "".join(self.pieces) or None


# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_CALL, _ARGUMENTS = DeltaKind.CALL, DeltaKind.ARGUMENTS
_CONTENT, _REASONING = DeltaKind.CONTENT, DeltaKind.REASONING
_OK, _REPAIRED = Status.OK, Status.REPAIRED
_CONTENT_PART, _REASONING_PART, _CALLS = TurnPart.CONTENT, TurnPart.REASONING, TurnPart.CALLS


class _ReadCall(Struct):
    """The fields of a `ParsedCall`, which takes longer to make: it is made for the message."""

    name: str
    """The function's name, e.g. "get_weather"."""
    arguments: str
    """The arguments as JSON text, e.g. '{"city": "Oslo"}'."""
    id: str
    """The id as it is written, e.g. "functions.get_forecast:0"; empty if none is."""
    status: Status
    """How the call was read, e.g. `Status.REPAIRED`."""
    made_id: str
    """The id that was made for the call, e.g. "NfNR9I2yt"."""
    schema: Json
    """The JSON schema of the tool's parameters, e.g. {"type": "object"}, or None."""
    departures: tuple[str, ...] = ()
    """The departures of a recovered call, e.g. ("arguments as a JSON object",)."""


class MessageCollector:
    """Receives the texts and calls that the readers find, in order."""

    # Class attributes: most streams never set them, and a collector is created faster.
    needs_all = False
    """Whether a call was found that counts only where all is forgiven."""
    vain_searches = 0
    """Number of places at which recovery was tried and took nothing."""
    status = Status.OK
    tries = False
    """Whether this reads a text only to learn whether it is a call, whatever its arguments."""
    ended = False
    """Whether the end of the turn was seen, and no text of the message after it."""
    last: TurnPart | None = None
    """The part of the message that came last, e.g. `TurnPart.REASONING`, or None if none has."""
    reasoning_end: int | None = None
    """The offset after the first closer of the reasoning, e.g. 46 behind "</think>", or None if it
    is not closed."""
    unclosed = False
    """Whether a closer of the call that closed last was missing."""
    interrupted = False
    """Whether the call that comes next ended reasoning that nothing closed, which is a guess."""
    deferred = ""
    """A text that is content if more content comes before it is known not to be."""
    muted = False
    """Whether calls opened from now on are surplus: read but not passed on."""
    strays = False
    """Whether there was a closer without an opening."""
    broken_at: int | None = None
    """The offset of the first markup of calls that has become content, so that closers of calls do,
    too, or None if none has."""
    unclosed_section: tuple[int, int] | None = None
    """Where calls ended whose section did not close: offset, and number of content pieces."""
    _call: tuple[str, str] | None = None
    _made_id = ""
    _sent_count = 0
    _passed_on = False
    """Whether the open call was passed on: enough of its arguments has come."""
    _surplus = False
    """Whether the open call exceeds the allowed number: it is not passed on."""
    _prompted: TextTape | None = None
    """The tape that contains the prefill, or None if no prefill is left."""
    _prompt_end = 0
    """Offset of the end of the prefill."""
    _held_reasoning: list[str] | None = None
    """The reasoning that is not passed on before it closes, or None if it is passed on."""

    def __init__(
        self, tool_names: frozenset[str] | None, schemas: CallSchemas, choices: MessageChoices
    ) -> None:
        """Make a collector; `tool_names` are the offered tools, or None if any may be called."""
        self.tool_names, self.schemas, self.choices = tool_names, schemas, choices
        if choices.holds_reasoning:
            self._held_reasoning = []
        self._deltas: list[Delta] = []
        self._content = self._reasoning = _Prose(_CONTENT)
        if choices.reasoning == "separate":
            self._reasoning = _Prose(_REASONING)
        self._read_calls: list[_ReadCall] = []
        self._closed_calls: list[ParsedCall] = []
        self._attempts: list[CallAttempt] = []
        self._unread: list[str] = []
        self._pieces: list[str] = []

    def reasoning(self, text: str) -> None:
        """Add to the reasoning."""
        # Until it closes, it may turn out to be the answer.
        if self._held_reasoning is not None and self.reasoning_end is None:
            self._held_reasoning.append(text)
            return
        if self._prompted is not None:
            text = self._drop_prompted(text)
        if text:
            self._put(self._reasoning, text, _REASONING_PART)

    def content(self, text: str) -> None:
        """Add to the content, after the deferred text."""
        if self.deferred:
            deferred, self.deferred = self.deferred, ""
            self._put(self._content, deferred, _CONTENT_PART)
        if self._prompted is not None:
            text = self._drop_prompted(text)
        if text:
            self._put(self._content, text, _CONTENT_PART)

    def defer(self, text: str) -> None:
        """Hold back a text that becomes content if more content follows."""
        self.deferred = self._drop_prompted(text)

    def reasoning_marker(self, text: str) -> None:
        """Take a marker of reasoning, which is text of the content if reasoning is raw."""
        if self.choices.reasoning == "raw":
            # A marker is not part of the message, even if its text is content.
            before = self.last, self.ended
            text = self._drop_prompted(text)
            if text:
                self._put(self._content, text, _REASONING_PART)
            self.last, self.ended = before

    @property
    def silent_markers(self) -> bool:
        """Whether markup around reasoning produces no delta."""
        return self.choices.reasoning != "raw" and self._held_reasoning is None

    def close_reasoning(self, position: int) -> None:
        """Store the offset at which the reasoning first ended."""
        if self.reasoning_end is None:
            self.reasoning_end = position
            held, self._held_reasoning = self._held_reasoning, None
            for text in held or ():
                self.reasoning(text)

    def end(self, *, complete: bool) -> None:
        """End the text: held reasoning that nothing closed is the answer, unless it was cut."""
        held, self._held_reasoning = self._held_reasoning, None
        for text in held or ():
            (self.content if complete else self.reasoning)(text)

    def unread(self, text: str) -> None:
        """Add text of a call that could not be read and is not content."""
        self._unread.append(text)

    def _drop_prompted(self, text: str) -> str:
        """Return the part of a text just taken that the prompt has not written."""
        tape = self._prompted
        if tape is not None:
            text = text[max(0, self._prompt_end - tape.position + len(text)) :]
            # Once past the prefill, no text has to be compared with it.
            self._prompted = tape if tape.position < self._prompt_end else None
        return text

    def _put(self, prose: _Prose, text: str, part: TurnPart) -> None:
        if prose.fresh:
            # The template may strip it, and a client could not take it back.
            if text.isspace():
                prose.waiting += text
                return
            text = prose.waiting + text
            prose.waiting = ""
            prose.fresh = False
        self.last = part
        self.ended = False
        prose.pieces.append(text)
        self._deltas.append(Delta(prose.kind, text))

    def forget(self, tape: TextTape) -> None:
        """Forget the prefill: the text so far and the text that is left on the tape.

        A call that the prefill began remains whole.
        """
        for prose in (self._content, self._reasoning):
            prose.pieces = []
            prose.waiting = ""
        self.deferred = ""
        prose_kinds = (DeltaKind.REASONING, DeltaKind.CONTENT)
        # The prompt has this text already, so a client must not get it as an answer.
        self._deltas = [delta for delta in self._deltas if delta.kind not in prose_kinds]
        self._prompted, self._prompt_end = tape, tape.position + tape.left()
        self.strays = False
        self.last = None

    def leave_section(self, position: int) -> None:
        """Note that calls ended here without the closer of their section."""
        self.unclosed_section = position, len(self._content.pieces)

    def noise(self) -> tuple[int, str] | None:
        """Return the offset of an unclosed section's end and the content since, once."""
        left, self.unclosed_section = self.unclosed_section, None
        return None if left is None else (left[0], "".join(self._content.pieces[left[1] :]))

    @property
    def within_line(self) -> bool:
        """Whether the last line of the content has text."""
        # From the end, since only the last line counts.
        for piece in reversed(self._content.pieces):
            line = piece.rpartition("\n")[2]
            if line.strip():
                return True
            if line != piece:
                return False
        return bool(self._content.pieces)

    @property
    def last_character(self) -> str:
        """The last character of the content so far; empty before the first."""
        return self.content_end(1)

    def content_end(self, most: int) -> str:
        """Return the end of the content so far, at most so many characters."""
        pieces: list[str] = []
        for piece in reversed(self._content.pieces):
            if most <= 0:
                break
            pieces.append(piece[-most:])
            most -= len(piece)
        return "".join(reversed(pieces))

    def drop_blank(self) -> None:
        """Forget whitespace that no text followed: it separates two parts."""
        self._content.waiting = self._reasoning.waiting = ""
        self._content.fresh = True

    def open_call(self, name: str, call_id: str = "") -> None:
        """Open a call; it is passed on once enough of its arguments has come."""
        self._call = (name, call_id)
        self.ended = False
        self._pieces = []
        self._sent_count = 0
        self._passed_on = False
        self._surplus = self.muted
        self._made_id = ""

    def arguments(self, text: str) -> None:
        """Add to the arguments of the open call."""
        self._pieces.append(text)

    def name_call(self, call_id: str) -> None:
        """Set the id of the open call if it is written after the name."""
        if self._call is not None:
            if not self.choices.whole_calls:
                # Pass the call on without the id, however the text is cut into pieces.
                self.flush()
            self._call = (self._call[0], call_id)

    def take(self) -> list[Delta]:
        """Return the deltas since the last call."""
        if self._sent_count != len(self._pieces) and not self.choices.whole_calls:
            self.flush()
        deltas = self._deltas
        self._deltas = []
        return deltas

    def text_sink(self, emit: Callable[[str], None]) -> LaneSink | None:
        """Return the sink of text that bypasses its reader, one delta a piece, or None if not yet.

        Text may bypass once its kind has begun, so that a piece only adds to its length.
        """
        prose = self._content if emit == self.content else None
        if prose is None and emit == self.reasoning and self._held_reasoning is None:
            prose = self._reasoning
        if prose is not None:
            if prose.fresh or self._prompted is not None or self.deferred:
                return None
            return LaneSink(prose.pieces, prose.pieces.append, prose.kind)
        # Held reasoning adds no delta until it closes.
        if emit != self.arguments or self.choices.whole_calls or self._surplus:
            return plain_sink(emit)
        if not self._passed_on and not _begins(self._pieces):
            # Nothing was passed on yet: `take` decides when the call has begun.
            return LaneSink(self._pieces, self._pieces.append)
        return LaneSink(self._pieces, self._pieces.append, _ARGUMENTS, len(self._read_calls))

    def note_passed(self) -> None:
        """Note that arguments of the open call that bypassed the reader were passed on."""
        if self._passed_on:
            self._sent_count = len(self._pieces)

    def flush(self, *, all_: bool = False) -> None:
        """Pass on the new text of the open call, its arguments in one piece.

        A call that may still turn out to be text is held back, unless `all_` is set.
        """
        pieces = self._pieces
        if self._call is None or self._surplus:
            return
        if not self._passed_on:
            if not (all_ or _begins(pieces)):
                return
            # From here on, the call cannot be taken back.
            name, call_id = self._call
            self._passed_on = True
            if not call_id:
                self._made_id = self.choices.make_id(name, len(self._read_calls))
            sent_id = call_id or self._made_id
            self._deltas.append(Delta(_CALL, name, len(self._read_calls), sent_id))
        text = "".join(pieces[self._sent_count :])
        self._sent_count = len(pieces)
        if text:
            self._deltas.append(Delta(_ARGUMENTS, text, len(self._read_calls)))

    @property
    def calling(self) -> bool:
        """Whether a call is open."""
        return self._call is not None

    @property
    def calls_offered(self) -> bool:
        """Whether a call of an offered tool is open."""
        return self._call is not None and (
            self.tool_names is None or self._call[0] in self.tool_names
        )

    @property
    def lacks_argument(self) -> bool:
        """Whether the open call, if it is passed on, has no value yet for a required argument."""
        if self._call is None or self._surplus:
            return False
        needed = self.schemas.of(self._call[0]).required
        try:
            return bool(needed) and not needed <= set(json.loads("".join(self._pieces) or "{}"))
        except (ValueError, TypeError, RecursionError):
            return False

    @property
    def has_begun(self) -> bool:
        """Whether an open call was passed on, or would be: it cannot become text any more."""
        return self._call is not None and not self._surplus and _begins(self._pieces)

    def drop_call(self) -> None:
        """Forget the open call, of which nothing was passed on."""
        self._call, self._pieces, self._sent_count = None, [], 0

    def whole_call(
        self, name: str, arguments: str, call_id: str, departures: tuple[str, ...] = ()
    ) -> None:
        """Add a call that was read at once, with its departures from the format."""
        self.ended, self.unclosed = False, bool(departures)
        if self.muted:
            return
        index = len(self._read_calls)
        made_id = "" if call_id else self.choices.make_id(name, index)
        self._deltas += (
            Delta(_CALL, name, index, call_id or made_id),
            Delta(_ARGUMENTS, arguments, index),
        )
        status = _REPAIRED if departures else _OK
        if self.tool_names is not None and name not in self.tool_names:
            status = Status.UNKNOWN_TOOL
        schema = self.schemas.given(name)
        self._read_calls.append(
            _ReadCall(name, arguments, call_id, status, made_id, schema, departures)
        )
        self.last = _CALLS

    def close_call(self, status: Status) -> None:
        """End the open call."""
        if self._call is None:
            return
        self.unclosed = status is _REPAIRED
        if self.tool_names is not None and self._call[0] not in self.tool_names:
            status = Status.UNKNOWN_TOOL
        self.flush(all_=True)
        call = self._open_call(status)
        self._call = None
        self._pieces, self._sent_count = [], 0
        if call is not None:
            self._read_calls.append(call)
            self.last = _CALLS

    def judge_call(self, text: str, closer: str, holds_entry: Callable[[str, str], bool]) -> None:
        """Note that the call that closed last is malformed if a value swallowed an argument.

        Its text then holds the entry of a declared key that is not in its arguments, and these hold
        the `closer` of a value.
        """
        call = self._read_calls[-1]
        # One search in a long text, and not two for each key that the call leaves out.
        if self.tries or call.status is not _OK or closer not in call.arguments:
            return
        declared = call.schema.get("properties") if isinstance(call.schema, dict) else None
        if not isinstance(declared, dict):
            return
        for key in declared:
            # Readers write each key with a colon and a blank behind it.
            lost = key in text and f'"{key}": ' not in call.arguments
            if lost and holds_entry(text, key):
                call.status = self.status = Status.MALFORMED
                # Drop its copy with the old status; `closed_calls` makes another one.
                del self._closed_calls[len(self._read_calls) - 1 :]
                return

    def repair_call(self) -> None:
        """Note that markup around the call that closed last was missing."""
        call = self._read_calls[-1]
        # A trial in reasoning forgives the opener of a section.
        if call.status is _OK and not self.tries:
            call.status = _REPAIRED
            del self._closed_calls[len(self._read_calls) - 1 :]

    def give_up_call(self) -> bool:
        """End a call that could not be read; return whether it was passed on and so remains a call.

        Its arguments are closed then. Otherwise it is text.
        """
        self.status = Status.MALFORMED
        begun = self._call is not None and not self._surplus and _begins(self._pieces)
        if begun:
            # A client has the beginning already, so the rest has to make it valid JSON.
            self._pieces.append(missing_closers("".join(self._pieces)))
            self.flush()
            call = self._open_call(Status.MALFORMED)
            self._read_calls += [] if call is None else [call]
            self.last = _CALLS
        self._call = None
        self._pieces, self._sent_count = [], 0
        return begun

    @property
    def closed_calls(self) -> list[ParsedCall]:
        """The calls that have closed."""
        calls = self._closed_calls
        calls += [ParsedCall(*astuple(call)) for call in self._read_calls[len(calls) :]]
        return calls

    def _open_call(self, status: Status) -> _ReadCall | None:
        """Return the open call so far, or None if none was passed on."""
        if self._call is None or not self._passed_on:
            return None
        name, call_id = self._call
        arguments, schema = "".join(self._pieces), self.schemas.given(name)
        return _ReadCall(name, arguments, call_id, status, self._made_id, schema)

    def attempted(self, start: int, end: int, status: Status | None = None) -> None:
        """Note the extent of a call; without a status it is the one that closed last."""
        found = self._read_calls[-1].status if status is None else status
        self._attempts.append(CallAttempt(start, end, found))

    def finish_reason(self, *, complete: bool) -> FinishReason:
        """Return OpenAI's finish reason of the text, which has ended."""
        if self._call is not None or not complete:
            return "length"
        return "tool_calls" if self._read_calls else "stop"

    def message(
        self,
        spans: tuple[Span, ...],
        *,
        complete: bool,
        missing_end: str,
        reasoning_end: int | None,
        finished: bool,
        skipped: int,
    ) -> ParsedMessage:
        """Return the message so far; `missing_end` is the end that it lacks.

        `skipped` is the number of characters that the prompt wrote.
        """
        partial = self._open_call(Status.CUT)
        # Reasoning that is inline or raw is in the content.
        reasoning = None if self._reasoning is self._content else self._reasoning.text()
        return ParsedMessage(
            self._content.text(),
            reasoning,
            tuple(self.closed_calls),
            None if partial is None else ParsedCall(*astuple(partial)),
            self._status(complete=complete, unfinished=bool(missing_end)),
            spans,
            missing_end,
            reasoning_end,
            self.finish_reason(complete=complete) if finished else None,
            "".join(self._unread) or None if self.choices.markup == "separate" else None,
            tuple(attempt.without(skipped) for attempt in self._attempts),
        )

    def _status(self, *, complete: bool, unfinished: bool) -> Status:
        """Return the worst status of the text and its calls."""
        # The worst case first: the first that applies is the status.
        if self._call is not None or not complete:
            return Status.CUT
        if self.needs_all and not self._read_calls:
            return Status.NEEDS_ALL
        if self.status is not Status.OK:
            return self.status
        if self.strays:
            return Status.STRAY
        if any(call.status is Status.REPAIRED for call in self._read_calls):
            return Status.REPAIRED
        return Status.UNFINISHED if unfinished else Status.OK


def _begins(pieces: list[str]) -> bool:
    """Return whether enough of a call's arguments has come to pass it on."""
    return sum(map(len, pieces)) >= _BEGUN


_BEGUN = 32
"""Characters of arguments: most broken calls break before, and a client waits for little text."""
