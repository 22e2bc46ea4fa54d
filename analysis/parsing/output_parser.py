"""The parser of one request: in one shot, or as the text comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from autoparser.analysis.core.text_format import TurnPart

from .marker_tokens import MarkerTokens, SpelledMarkers
from .message_collector import CallIds, MessageCollector
from .parsed_message import Delta, DeltaKind, ParsedMessage, ReasoningIn
from .stop_marks import call_stops
from .text_tape import Span, SpanKind, TextLane, TextTape
from .turn_reader import TurnReader
from .turn_request import PartBody, RequestError, StrictRow, TurnStart, TurnTree

if TYPE_CHECKING:
    from autoparser.analysis.sources.tokenizer import ModelTokenizer

    from .marker_tokens import ReasoningEnd


# Which end of the turn an output lacks that has none.


_PARTS = {
    SpanKind.REASONING: TurnPart.REASONING,
    SpanKind.CONTENT: TurnPart.CONTENT,
    SpanKind.NAME: TurnPart.CALLS,
    SpanKind.ID: TurnPart.CALLS,
    SpanKind.ARGUMENTS: TurnPart.CALLS,
}


def missing_end(turn: TurnTree, spans: Sequence[Span]) -> str:
    """Return the end that the template writes after what was read last; empty where it writes none.

    Templates may end a turn after content and leave it open after calls.
    """
    last = next((_PARTS[span.kind] for span in reversed(spans) if span.kind in _PARTS), None)
    ends = [row.end.core for row in turn.strict.rows if _last_part(row.items) is last]
    if not ends:
        return turn.ends[0].core if turn.ends else ""
    return ends[0] if all(ends) else ""


def _last_part(items: Sequence[object]) -> TurnPart | None:
    return next((item.part for item in reversed(items) if isinstance(item, PartBody)), None)


# A parser of one output that comes in pieces.


class StreamParser:
    """Reads one output piece by piece."""

    __slots__ = ("_collector", "_complete", "_reading", "_skipped", "_tape", "_turn")

    def __init__(
        self, reader: TurnReader, collector: MessageCollector, *, prefill: str = ""
    ) -> None:
        """Begin; `prefill` is what the prompt wrote of the message."""
        self._tape = TextTape()
        self._tape.sink_of = collector.sink_of
        self._turn = reader.turn
        self._collector = collector
        self._complete = True
        self._reading = reader.read(self._tape, collector)
        self._skipped = len(prefill)
        next(self._reading, None)
        if prefill:
            self._tape.feed(prefill)
            next(self._reading, None)
            self._leave_lane()
            collector.forget(self._tape)

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Take a piece of text; return what it adds to the message.

        `ids` are the tokens that are new, for a parser that was made with a tokenizer; another
        raises RequestError.
        """
        tape = self._tape
        lane = tape.lane
        if lane is not None and text and ids is None:
            # The usual case, which has to cost next to nothing.
            if lane.held:
                text = lane.held + text
                lane.held = ""
            if lane.search(text) is not None:
                return self._looked_at(lane, text)
            if lane.ends and text[-1] in lane.ends:
                # One sign at the end is all that there usually is.
                if text[-2:-1] in lane.ends:
                    return self._looked_at(lane, text)
                lane.held = text[-1]
                text = text[:-1]
            lane.append(text)
            kind = lane.delta
            return self._collector.take() if kind is None else [Delta(kind, text, lane.index)]
        if ids is not None:
            raise RequestError(
                "token ids were given to a parser that does not know their texts",
                hint="make the parser with tokenizer=…",
            )
        if not text or tape.closed:
            return []
        return self._seen(text)

    def _looked_at(self, lane: TextLane, text: str) -> list[Delta]:
        """Take a piece of text of which not all may pass by, or not as it is."""
        passed = lane.passing(text)
        if passed is None:
            return self._seen(text)
        if not passed:
            return []
        if lane.write is None:
            lane.append(passed)
        else:
            written = lane.write(passed)
            self._tape.pass_written(lane, passed, written)
            passed = written
        kind = lane.delta
        return self._collector.take() if kind is None else [Delta(kind, passed, lane.index)]

    def _seen(self, text: str) -> list[Delta]:
        """Take a piece of text that the reader has to see."""
        if self._tape.lane is not None:
            self._leave_lane()
        self._tape.feed(text)
        next(self._reading, None)
        return self._collector.take()

    def _leave_lane(self) -> None:
        self._tape.leave_lane()
        self._collector.note_passed()

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; return what is left to add, and last the finish reason."""
        if self._tape.closed:
            return []
        self._leave_lane()
        self._tape.closed = True
        self._tape.complete = self._complete = complete
        next(self._reading, None)
        rest = self._tape.left()
        if rest:
            self._tape.take(rest, SpanKind.JUNK)
        reason = self._collector.finish_reason(complete=complete)
        return [*self._collector.take(), Delta(DeltaKind.FINISH, reason)]

    @property
    def reasoning_end(self) -> int | None:
        """The position right after what closed the reasoning, as in the message."""
        if self._turn.start is TurnStart.CONTENT:
            return 0
        end = self._collector.reasoning_end
        return None if end is None else max(0, end - self._skipped)

    @property
    def message(self) -> ParsedMessage:
        """The message as far as it has come."""
        skipped = self._skipped
        spans = tuple(
            Span(max(0, span.start - skipped), span.end - skipped, span.kind)
            for span in self._tape.spans
            if span.end > skipped
        )
        finished = self._tape.closed and self._complete
        missing = "" if self._collector.ended or not finished else missing_end(self._turn, spans)
        return self._collector.message(
            spans,
            complete=self._complete,
            missing_end=missing,
            reasoning_end=self.reasoning_end,
            finished=self._tape.closed,
            skipped=skipped,
        )


# A parser of one output whose token ids are known: what only looks like a marker is text.


class IdentifiedStream(StreamParser):
    """Reads one output piece by piece, with its ids."""

    __slots__ = ("_spelled",)

    def __init__(
        self,
        reader: TurnReader,
        collector: MessageCollector,
        tokens: MarkerTokens,
        *,
        prefill: str = "",
    ) -> None:
        """Begin; `prefill` is what the prompt wrote of the message."""
        super().__init__(reader, collector, prefill=prefill)
        self._spelled = SpelledMarkers(tokens)

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Take a piece of text, and the ids that are new; return what it adds to the message.

        The text of an id may come later than the id, as engines give it where a character is not
        whole. An id that is out of the vocabulary has no text.
        """
        return self._spelled.shown(super().feed(self._spelled.hide(text, ids)))

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; return what is left to add, and last the finish reason."""
        return self._spelled.shown(super().finish(complete=complete))

    @property
    def message(self) -> ParsedMessage:
        """The message as far as it has come."""
        return self._spelled.whole(super().message)


def after_reasoning(turn: TurnTree) -> TurnTree:
    """Return the turn for a text that begins where the reasoning has ended."""
    if turn.reasoning is None:
        return replace(turn, start=TurnStart.CONTENT, unwritten="", prefill="")
    close = turn.reasoning.close
    rows = [_after_reasoning(row, close.core) for row in turn.strict.rows]
    strict = replace(turn.strict, rows=tuple(dict.fromkeys(rows)))
    return replace(turn, start=TurnStart.CONTENT, unwritten=close.after, prefill="", strict=strict)


def _after_reasoning(row: StrictRow, close: str) -> StrictRow:
    """Return what of a row comes after the text that closes reasoning."""
    if not close or not row.has(TurnPart.REASONING):
        return row
    items = list(row.items)
    while items:
        item = items.pop(0)
        if isinstance(item, PartBody) and item.part is TurnPart.REASONING and items:
            closing = items[0]
            if isinstance(closing, str) and close in closing:
                rest = closing.partition(close)[2]
                return replace(row, items=(*([rest] if rest else []), *items[1:]))
    return row


class OutputParser:
    """Reads what a model wrote for one request. Nothing that it is given makes it raise."""

    def __init__(
        self,
        turn: TurnTree,
        *,
        offered: frozenset[str] | None = None,
        reasoning: ReasoningIn = "separate",
        whole_calls: bool = False,
        call_ids: Callable[[str, int], str] | int | None = None,
        tokenizer: ModelTokenizer | None = None,
        strip_code_fence: bool = False,
        keeps_reasoning: bool = False,
    ) -> None:
        """Make the parser of an expression; `offered` are the tools, None: any.

        `whole_calls` gives a call only once it closed. `call_ids` makes the ids of calls that are
        written without one; a number is the seed of such a maker. Where it makes an empty one, the
        call's number stands for it in OpenAI's form. With a `tokenizer`, texts come with their ids.
        `strip_code_fence` leaves out the fence around an answer in JSON. With `keeps_reasoning`
        only its close and the turn's end can end reasoning.
        """
        self.turn = turn
        self._reader = TurnReader(
            turn, offered, fenced=strip_code_fence, keeps_reasoning=keeps_reasoning
        )
        self.offered = offered
        self._reasoning: ReasoningIn = reasoning
        self._whole_calls = whole_calls
        self._make_id = call_ids if callable(call_ids) else CallIds(call_ids)

        self._tokens: MarkerTokens | None = None
        if tokenizer is not None:
            from .marker_tokens import MarkerTokens  # noqa: PLC0415 - it loads what masks need

            self._tokens = MarkerTokens(turn, tokenizer)

    def may_hold_call(self, text: str) -> bool:
        """Whether there can be a call in a text; false for certain where nothing begins one.

        It takes one search for the texts that open calls, in what the prompt wrote of the message
        and in the text.
        """
        opens = self._opens_call
        return opens is not None and opens.search(self.turn.prefill + text) is not None

    @cached_property
    def _opens_call(self) -> re.Pattern[str] | None:
        texts = sorted(set(call_stops(self.turn, self.offered)))
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def reasoning_end_by_ids(self) -> ReasoningEnd:
        """Make what says by token ids where reasoning ends; the parser needs a tokenizer.

        Raises RequestError without a tokenizer, and where no text ends the reasoning.
        """
        if self._tokens is None:
            raise RequestError(
                "token ids cannot be read by a parser that does not know their texts",
                hint="make the parser with tokenizer=…",
            )
        from .marker_tokens import ReasoningEnd  # noqa: PLC0415 - it loads what masks need

        return ReasoningEnd(self.turn, self._tokens.tokenizer)

    def parse(
        self, text: str, *, complete: bool = True, ids: Sequence[int] | None = None
    ) -> ParsedMessage:
        """Read a whole output; `complete=False` says that it was cut on purpose.

        `ids` are its tokens, for a parser that was made with a tokenizer: text that spells a
        marker which is a token of its own, but came as other tokens, is text. Raises RequestError
        for ids without a tokenizer.
        """
        stream = self.stream()
        stream.feed(text, ids)
        stream.finish(complete=complete)
        return stream.message

    def stream(self) -> StreamParser:
        """Begin to read an output that comes in pieces."""
        collector = MessageCollector(
            self.offered,
            reasoning=self._reasoning,
            whole_calls=self._whole_calls,
            make_id=self._make_id,
        )
        tokens = self._tokens
        if tokens is None:
            return StreamParser(self._reader, collector, prefill=self.turn.prefill)

        return IdentifiedStream(self._reader, collector, tokens, prefill=self.turn.prefill)


# Two parsers of one output: the template's way of writing, and another one that was learnt.
#
# Both read. What both have found is given at once; the first that opens a call has told which of
# the two ways the model took, and the other is left. Where neither does, the template's counts,
# unless it alone is at fault.


_TEXTS = (DeltaKind.CONTENT, DeltaKind.REASONING)


class EitherStream:
    """Reads one output in two ways, as a `StreamParser` does in one."""

    def __init__(self, own: StreamParser, other: StreamParser) -> None:
        """Begin; `own` is the template's way."""
        self._readers = (own, other)
        self._waiting: tuple[list[Delta], list[Delta]] = ([], [])
        self._chosen: int | None = None

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Take a piece of text; return what it adds to the message."""
        if self._chosen is not None:
            return self._readers[self._chosen].feed(text, ids)
        for reader, waiting in zip(self._readers, self._waiting, strict=True):
            waiting.extend(reader.feed(text, ids))
        return self._given()

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; return what is left to add, and last the finish reason."""
        if self._chosen is not None:
            return self._readers[self._chosen].finish(complete=complete)
        for reader, waiting in zip(self._readers, self._waiting, strict=True):
            waiting.extend(reader.finish(complete=complete))
        given = self._given()
        return given if self._decided else [*given, *self._waiting[self._decide()]]

    @property
    def reasoning_end(self) -> int | None:
        """The position right after what closed the reasoning, as in the message."""
        return self._readers[self._chosen or 0].reasoning_end

    @property
    def message(self) -> ParsedMessage:
        """The message as far as it has come."""
        return self._readers[self._chosen or 0].message

    @property
    def _decided(self) -> bool:
        return self._chosen is not None

    def _decide(self) -> int:
        """Choose where no call was opened: the template's way, unless it alone is at fault."""
        own, other = (reader.message for reader in self._readers)
        self._chosen = int(not own.status.regular and other.status.regular)
        return self._chosen

    def _given(self) -> list[Delta]:
        """Return what both have found alike, and all that one has found who opens a call."""
        given: list[Delta] = []
        own, other = self._waiting
        while own and other and own[0].kind is other[0].kind and own[0].kind in _TEXTS:
            size = min(len(own[0].text), len(other[0].text))
            if own[0].text[:size] != other[0].text[:size]:
                break
            given.append(Delta(own[0].kind, own[0].text[:size]))
            for waiting in (own, other):
                waiting[0] = Delta(waiting[0].kind, waiting[0].text[size:])
                if not waiting[0].text:
                    waiting.pop(0)
        for number, waiting in enumerate(self._waiting):
            if any(delta.kind is DeltaKind.CALL for delta in waiting):
                self._chosen = number
                return [*given, *waiting]
        return given


class EitherParser(OutputParser):
    """Reads what a model wrote in the template's way or in another one."""

    def __init__(self, own: OutputParser, other: OutputParser) -> None:
        """Join two parsers of one request; what is asked of the turn, the first one answers."""
        self.__dict__.update(own.__dict__)
        self._both = (own, other)

    def may_hold_call(self, text: str) -> bool:
        """Whether there can be a call in a text, written in either way."""
        return any(parser.may_hold_call(text) for parser in self._both)

    def stream(self) -> StreamParser:
        """Begin to read an output that comes in pieces."""
        own, other = (parser.stream() for parser in self._both)
        return EitherStream(own, other)  # type: ignore[return-value]
