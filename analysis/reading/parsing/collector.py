"""Gathering what the readers find into deltas and, in the end, the message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from autoparser.analysis.core.format import Part
from autoparser.analysis.reading.text import Span, Tape

from .parsed_message import (
    CallAttempt,
    Delta,
    DeltaKind,
    FinishReason,
    ParsedCall,
    ParsedMessage,
    ReasoningIn,
    Status,
)


@dataclass(slots=True)
class _Prose:
    """A text whose leading whitespace is kept back until something stands after it."""

    kind: DeltaKind
    pieces: list[str] = field(default_factory=list[str])
    waiting: str = ""
    fresh: bool = True
    """Nothing came yet, or nothing since a call: whitespace waits for what stands after it."""

    def text(self) -> str | None:
        """Return the whole; None where there was nothing but whitespace."""
        return "".join(self.pieces) or None


class Collector:
    """Takes what the readers find, in order."""

    __slots__ = (
        "_attempts",
        "_call",
        "_calls",
        "_content",
        "_deltas",
        "_made_id",
        "_make_id",
        "_malformed",
        "_muted",
        "_opened",
        "_pieces",
        "_prompt_end",
        "_prompted",
        "_raw",
        "_reasoning",
        "_sent",
        "_stray",
        "ended",
        "known",
        "last",
        "reasoning_end",
        "status",
        "whole_calls",
    )

    def __init__(
        self,
        known: frozenset[str] | None,
        *,
        reasoning: ReasoningIn,
        whole_calls: bool,
        make_id: Callable[[str, int], str],
    ) -> None:
        """`known` are the tools offered, None: any; `make_id` makes ids where none is written.

        It is given the call's name and its number in the message.
        """
        self.known = known
        self.status = Status.OK
        self.ended = False
        """Whether what ends a turn was seen, and nothing of the message after it."""
        self.last: Part | None = None
        """The part of the message that came last; None: nothing has."""
        self.reasoning_end: int | None = None
        """The position right after what first closed the reasoning; None: nothing has."""
        self.whole_calls = whole_calls
        self._make_id = make_id
        self._made_id = ""
        self._deltas: list[Delta] = []
        self._content = _Prose(DeltaKind.CONTENT)
        separate = reasoning == "separate"
        self._raw = reasoning == "raw"
        self._reasoning = _Prose(DeltaKind.REASONING) if separate else self._content
        self._calls: list[ParsedCall] = []
        self._malformed: list[ParsedCall] = []
        self._attempts: list[CallAttempt] = []
        self._call: tuple[str, str] | None = None
        self._pieces: list[str] = []
        self._sent = 0
        self._opened = 0
        self._muted = False
        self._stray = False
        self._prompted: Tape | None = None
        """Where the prompt began the message: the tape that holds what it wrote."""
        self._prompt_end = 0
        """Up to which position it did."""

    def reasoning(self, text: str) -> None:
        """Add to the reasoning."""
        self._add(self._reasoning, text, Part.REASONING)

    def content(self, text: str) -> None:
        """Add to the content."""
        self._add(self._content, text, Part.CONTENT)

    def reasoning_marker(self, text: str) -> None:
        """Take what opens or closes reasoning: text of the content, if that is to be raw."""
        if self._raw:
            before = self.last, self.ended
            self._add(self._content, text, Part.REASONING)
            self.last, self.ended = before

    def close_reasoning(self, position: int) -> None:
        """Note where the reasoning ended, unless it has before."""
        if self.reasoning_end is None:
            self.reasoning_end = position

    def _add(self, prose: _Prose, text: str, part: Part) -> None:
        tape = self._prompted
        if tape is not None:
            text = text[max(0, self._prompt_end - tape.position + len(text)) :]
            self._prompted = tape if tape.position < self._prompt_end else None
        if not text:
            return
        if prose.fresh:
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

    def forget(self, tape: Tape) -> None:
        """Forget the text so far, what the tape still holds of it included: the prompt wrote it.

        Of a call that it began, all is part of the message.
        """
        for prose in (self._content, self._reasoning):
            prose.pieces = []
            prose.waiting = ""
        prose_kinds = (DeltaKind.REASONING, DeltaKind.CONTENT)
        self._deltas = [delta for delta in self._deltas if delta.kind not in prose_kinds]
        self._prompted, self._prompt_end = tape, tape.position + tape.left()
        self._stray = False
        self.last = None

    def stray(self) -> None:
        """Note a closer of something that was not open."""
        self._stray = True

    @property
    def within_line(self) -> bool:
        """Whether the content goes on in a line in which something stands already."""
        for piece in reversed(self._content.pieces):
            line = piece.rpartition("\n")[2]
            if line.strip():
                return True
            if line != piece:
                return False
        return bool(self._content.pieces)

    def drop_blank(self) -> None:
        """Forget whitespace after which nothing came: it stood between two parts."""
        self._content.waiting = self._reasoning.waiting = ""
        self._content.fresh = True

    def mute(self, muted: bool) -> None:
        """Let calls be read that do not count, as long as this is true."""
        self._muted = muted

    def open_call(self, name: str, call_id: str = "") -> None:
        """Begin a call; from here on it is one."""
        self._call = (name, call_id)
        self.ended = False
        self._pieces = []
        self._sent = 0
        if self._muted:
            return
        self._made_id = "" if call_id else self._make_id(name, self._opened)
        if not self.whole_calls:
            self._deltas.append(Delta(DeltaKind.CALL, name, self._opened, call_id or self._made_id))

    def arguments(self, text: str) -> None:
        """Add to the arguments of the open call."""
        self._pieces.append(text)

    def name_call(self, call_id: str) -> None:
        """Give the open call its id, where that is written after its name."""
        if self._call is not None:
            self._call = (self._call[0], call_id)

    def take(self) -> list[Delta]:
        """Return what came since the last time."""
        if self._sent != len(self._pieces):
            self._flush()
        deltas = self._deltas
        self._deltas = []
        return deltas

    def _flush(self) -> None:
        """Pass on what came of the open call's arguments, in one piece."""
        pieces = self._pieces
        text = "".join(pieces[self._sent :])
        self._sent = len(pieces)
        if text and not self.whole_calls and not self._muted:
            self._deltas.append(Delta(DeltaKind.ARGUMENTS, text, self._opened))

    @property
    def calling(self) -> bool:
        """Whether a call is open."""
        return self._call is not None

    @property
    def calls(self) -> int:
        """How many calls have closed."""
        return len(self._calls)

    @property
    def closed_calls(self) -> tuple[ParsedCall, ...]:
        """The calls that have closed."""
        return tuple(self._calls)

    def close_call(self, status: Status) -> None:
        """End the open call."""
        call = self._end_call(status)
        if call is None:
            return
        if self.known is not None and call.name not in self.known:
            call = replace(call, status=Status.UNKNOWN_TOOL)
        if self.whole_calls:
            given = call.id or call.made_id
            self._deltas.append(Delta(DeltaKind.CALL, call.name, self._opened, given))
            self._deltas.append(Delta(DeltaKind.ARGUMENTS, call.arguments, self._opened))
        self._opened += 1
        self._calls.append(call)
        self.last = Part.CALLS

    def give_up_call(self) -> None:
        """End a call that could not be read; what was streamed of it stays said."""
        call = self._end_call(Status.MALFORMED)
        self.status = Status.MALFORMED
        if call is not None and not self.whole_calls:
            self._opened += 1
            self._malformed.append(call)

    def _end_call(self, status: Status) -> ParsedCall | None:
        """Forget the open call; return it, unless it does not count."""
        if self._call is None:
            return None
        self._flush()
        call = self._open_call(status)
        self._call = None
        self._pieces, self._sent = [], 0
        return call

    def _open_call(self, status: Status) -> ParsedCall | None:
        """Return the open call as far as it has come; None: there is none, or it does not count."""
        if self._call is None or self._muted:
            return None
        name, call_id = self._call
        return ParsedCall(name, "".join(self._pieces), call_id, status, self._made_id)

    def attempted(self, start: int, end: int, status: Status | None = None) -> None:
        """Note where a call stands; without a status it is the one that has closed."""
        found = self._calls[-1].status if status is None else status
        self._attempts.append(CallAttempt(start, end, found))

    def finish_reason(self, *, complete: bool) -> FinishReason:
        """Say why the text ended, in OpenAI's words, now that it has."""
        if self._call is not None or not complete:
            return "length"
        return "tool_calls" if self._calls else "stop"

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
        """Return the message as far as it has come; `missing_end` is the end that it lacks.

        So many characters as were `skipped` the prompt has written.
        """
        partial = self._open_call(Status.CUT)
        reasoning = None if self._reasoning is self._content else self._reasoning.text()
        return ParsedMessage(
            self._content.text(),
            reasoning,
            tuple(self._calls),
            partial,
            self._status(complete=complete, unfinished=bool(missing_end)),
            spans,
            tuple(self._malformed),
            missing_end,
            reasoning_end,
            self.finish_reason(complete=complete) if finished else None,
            tuple(each.without(skipped) for each in self._attempts),
        )

    def _status(self, *, complete: bool, unfinished: bool) -> Status:
        """Return the worst of what happened."""
        if self._call is not None or not complete:
            return Status.CUT
        if self.status is not Status.OK:
            return self.status
        if self._stray:
            return Status.STRAY
        if any(call.status is Status.REPAIRED for call in self._calls):
            return Status.REPAIRED
        return Status.UNFINISHED if unfinished else Status.OK
