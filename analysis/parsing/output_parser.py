"""Parse the outputs of one request: `OutputParser.parse` at once, `stream` piece by piece.

    text piece -> StreamParser.feed -> TextTape -> TurnReader (a generator) -> MessageCollector
               -> deltas; `message` is the message so far

Most pieces are plain text in content, reasoning or arguments: they take a lane that bypasses the
reader. `IdentifiedStream` also gets token ids, so that text that only spells a marker stays text.
A parser with an `alternative` reads in two ways: the template's, and one that was learned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from msgspec import DecodeError, Struct
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.turn_parts import TurnPart

from .foreign_calls import foreign_call
from .marker_tokens import MarkerTokens, ReasoningEnd, SpelledMarkers
from .message_collector import UNIQUE_IDS, CallIds, MessageChoices, MessageCollector
from .parsed_message import (
    Delta,
    DeltaKind,
    Forgiven,
    MarkupIn,
    ParsedMessage,
    ReasoningIn,
    Status,
    UnclosedReasoning,
)
from .parser_choice import EitherStream, ExactStream
from .stop_marks import call_stops
from .stream_parser import SearchingStream
from .text_tape import Span, SpanKind, TextLane, TextTape
from .turn_nodes import PartBody, StrictRow, TurnStart, TurnTree
from .turn_reader import TurnReader, turn_reader_for
from .turn_request import CallSchemas, RequestError

if TYPE_CHECKING:
    from autoparser.analysis.sources.tokenizer import ModelTokenizer


# The end of the turn if an output lacks it.


_PARTS = {
    SpanKind.REASONING: TurnPart.REASONING,
    SpanKind.CONTENT: TurnPart.CONTENT,
    SpanKind.NAME: TurnPart.CALLS,
    SpanKind.ID: TurnPart.CALLS,
    SpanKind.ARGUMENTS: TurnPart.CALLS,
}


def missing_end(turn: TurnTree, spans: Sequence[Span]) -> str:
    """Return the end that the template writes after the part read last, or empty if none.

    Templates may end a turn after content and leave it open after calls.
    """
    last = next((_PARTS[span.kind] for span in reversed(spans) if span.kind in _PARTS), None)
    ends: list[str] = []
    for row in turn.strict.rows:
        parts = [item.part for item in row.items if isinstance(item, PartBody)]
        # Count only the rows that end with the part read last.
        ends += [row.end.core] if (parts[-1] if parts else None) is last else []
    if not ends:
        return turn.ends[0].core if turn.ends else ""
    # If a row stops here without an end, none is missing.
    return ends[0] if all(ends) else ""


def _not_a_text(value: object) -> RequestError:
    """Return the error about an output, or a piece of one, that is not a string."""
    got = "None" if value is None else type(value).__name__
    hint = "decode it first" if isinstance(value, bytes | bytearray) else None
    return RequestError(f"an output must be a string, got {got}", hint=hint)


class TurnStream(SearchingStream):
    """Reads one output in one format."""

    def __init__(
        self, reader: TurnReader, collector: MessageCollector, *, prefill: str = ""
    ) -> None:
        """Begin; `prefill` is the beginning of the message that the prompt wrote."""
        self._tape = TextTape()
        self._tape.text_sink = collector.text_sink
        self._turn = reader.turn
        self._collector = collector
        self._reading = reader.read(self._tape, collector)
        self._skipped = len(prefill)
        if prefill:
            # Start the reader, and let it read the prefill as if the model had written it.
            next(self._reading, None)
            self._tape.still = None
            self._tape.feed(prefill)
            next(self._reading, None)
            self._leave_lane()
            collector.forget(self._tape)

    @property
    def searching(self) -> bool:
        """Whether a call could not be read, and a search for calls in its text has begun."""
        return self._collector.vain_searches > 0

    def feed(  # noqa: C901, PLR0912, PLR0915 - all that most pieces need, without a call
        self, text: str, ids: Sequence[int] | None = None
    ) -> list[Delta]:
        """Read a piece of text; return the deltas that it adds."""
        if text.__class__ is not str or ids is not None or not text:
            return self._feed_other(text, ids)
        tape = self._tape
        lane = tape.lane
        if lane is not None:
            # The usual case, which has to be fast.
            if lane.held_text:
                text = lane.held_text + text
                # Text between two parts that the template writes adds no delta.
                if lane.joint.startswith(text):
                    lane.held_text = text
                    return []
                lane.held_text = ""
            decode = lane.decode
            if decode is not None:
                if "\\" in text or '"' in text or not text.isprintable():
                    # The rest of an escape may come.
                    if text[-1] == "\\":
                        lane.held_text = "\\"
                        text = text[:-1]
                        if not text:
                            return []
                    try:
                        decode(f'"{text}"')
                    except (DecodeError, UnicodeEncodeError):
                        text += lane.held_text
                        lane.held_text = ""
                        return self._feed_in_part(lane, text)
            elif lane.sign in text and lane.find(text) is not None:
                return self._feed_in_part(lane, text)
            elif text[-1] in lane.ends:
                search, size = lane.search, len(text)
                end = len(text.rstrip(search.blank))
                if end < size - search.widest:
                    end = size - search.widest
                elif end == size:
                    # A backtick: the fence that it may open takes the whitespace before it along.
                    if size > 1 and text[-2] in search.ends:
                        return self._feed_in_part(lane, text)
                    end -= 1
                lane.held_text = text[end:]
                text = text[:end]
                if not text:
                    return []
            quote = lane.quote
            if quote is not None:
                text = quote(text)[1:-1]
            lane.append(text)
            kind = lane.delta
            return self._take_deltas(lane) if kind is None else [Delta(kind, text, lane.index)]
        hold = tape.hold
        if hold is not None:
            # A reader waits for the closer of a call, or for as much text as it waits at most.
            held = tape.text = tape.text + text
            if len(held) < hold.most and hold.wanted not in held:
                return []
            tape.hold = None
            next(self._reading, None)
            return self._collector.take()
        if tape.closed:
            raise RequestError(
                "the output has been finished, so no text can follow",
                hint="begin another stream for another output",
            )
        if tape.at:
            tape.feed(text)
        else:
            tape.text += text
        still = tape.still
        if still is not None:
            # E.g. in the middle of "<tool_call>", where the reader would only wait again.
            if still():
                return []
            tape.still = None
        next(self._reading, None)
        return self._collector.take()

    def _feed_other(self, text: str, ids: Sequence[int] | None) -> list[Delta]:
        """Read a piece that is empty or no plain text."""
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _not_a_text(text)
        if ids is not None:
            raise RequestError(
                "a parser without a tokenizer cannot take token ids",
                hint="create the parser with tokenizer=…",
            )
        return TurnStream.feed(self, str(text)) if text else []

    def _feed_in_part(self, lane: TextLane, text: str) -> list[Delta]:
        """Read a piece of which some may not bypass the reader, or not unchanged."""
        passed = lane.passing(text)
        if passed is None:
            # The reader has to see it, and the text that was held before it.
            self._leave_lane()
            self._tape.text += text
            next(self._reading, None)
            return self._collector.take()
        # All of it is held until more text comes.
        if not passed:
            return []
        if lane.quote is not None:
            passed = lane.quote(passed)[1:-1]
        lane.append(passed)
        kind = lane.delta
        return self._take_deltas(lane) if kind is None else [Delta(kind, passed, lane.index)]

    def _take_deltas(self, lane: TextLane) -> list[Delta]:
        """Return the deltas of a piece that has passed to where deltas are made."""
        deltas = self._collector.take()
        if deltas:
            # The call has begun: from now on, each piece is a delta.
            self._tape.change_sink(lane)
        return deltas

    def _leave_lane(self) -> None:
        self._tape.leave_lane()
        self._collector.note_passed()

    def read_on(self) -> None:
        """Read the text that waits for the closer of a call, as far as possible."""
        while self._tape.hold is not None:
            self._tape.hold = None
            next(self._reading, None)

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """End the text; return the remaining deltas, the last of which is the finish reason."""
        if self._tape.closed:
            return []
        self.read_on()
        self._leave_lane()
        self._tape.closed = True
        self._tape.complete = complete
        next(self._reading, None)
        self._collector.end(complete=complete)
        # No reader takes it any more, but each character belongs to a span.
        rest = self._tape.left()
        if rest:
            self._tape.take(rest, SpanKind.JUNK)
        reason = self._collector.finish_reason(complete=complete)
        return [*self._collector.take(), Delta(DeltaKind.FINISH, reason)]

    def _look(self) -> None:
        """Let the reader see text that it need not see yet, which adds no delta."""
        tape = self._tape
        lane = tape.lane
        if tape.still is not None or (lane is not None and len(lane.held_text) > 1):
            if lane is not None:
                self._leave_lane()
            tape.still = None
            next(self._reading, None)

    @property
    def reasoning_end(self) -> int | None:
        """The offset after the closer of the reasoning, as in the message."""
        self._look()
        if self._turn.start is TurnStart.CONTENT:
            return 0
        end = self._collector.reasoning_end
        return None if end is None else max(0, end - self._skipped)

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        self._look()
        skipped = self._skipped
        spans = tuple(
            Span(max(0, span.start - skipped), span.end - skipped, span.kind)
            for span in self._tape.spans
            if span.end > skipped
        )
        tape, ended = self._tape, self._collector.ended
        missing = "" if ended or not tape.complete else missing_end(self._turn, spans)
        message = self._collector.message(
            spans,
            complete=tape.complete or not tape.closed,
            missing_end=missing,
            reasoning_end=self.reasoning_end,
            finished=tape.closed,
            skipped=skipped,
        )
        turn, content = self._turn, message.content
        if (
            tape.closed
            and message.status.regular
            and (tape.skipped_words or (not ended and tape.junk_letter is not None))
        ):
            return replace_fields(message, status=Status.STRAY)
        if tape.closed and message.status.regular and not message.tool_calls and content:
            # Content that follows a schema may name a tool.
            called = turn.calls is not None and not turn.json and foreign_call(turn, content)
            return replace_fields(message, status=Status.OTHER_FORMAT) if called else message
        return message


# A parser of one output with known token ids: text that only spells out a marker is text.


class IdentifiedStream(TurnStream):
    """Reads one output piece by piece, with its token ids."""

    def __init__(
        self,
        reader: TurnReader,
        collector: MessageCollector,
        tokens: MarkerTokens,
        *,
        prefill: str = "",
    ) -> None:
        """Begin; `prefill` is the beginning of the message that the prompt wrote."""
        super().__init__(reader, collector, prefill=prefill)
        self._spelled = SpelledMarkers(tokens)

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Read a piece of text and the new ids; return the deltas that it adds.

        The text of an id may come later than the id, as in engines when a character is not whole.
        An id outside the vocabulary has no text.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _not_a_text(text)
        return self._spelled.restore_deltas(super().feed(self._spelled.hide(text, ids)))

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """End the text; return the remaining deltas, the last of which is the finish reason."""
        return self._spelled.restore_deltas(super().finish(complete=complete))

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        return self._spelled.restore_message(super().message)


def after_reasoning(turn: TurnTree) -> TurnTree:
    """Return the turn for a text that begins after the reasoning."""
    if turn.reasoning is None:
        return replace(turn, start=TurnStart.CONTENT, unwritten="", prefill="")
    close = turn.reasoning.close
    rows = [row_after_reasoning(row, close.core) or row for row in turn.strict.rows]
    strict = replace(turn.strict, rows=tuple(dict.fromkeys(rows)))
    return replace(turn, start=TurnStart.CONTENT, unwritten=close.after, prefill="", strict=strict)


def at_any_start(turns: Sequence[TurnTree]) -> TurnTree:
    """Return the turn for a text that begins after one of several prompts, or after its reasoning.

    `turns` are those of the prompts, of one format; the first one has the text around the rows.
    """
    rows = [
        row
        for turn in turns
        for tree in (turn, after_reasoning(turn))
        # The grammar begins after the reasoning that the prompt has opened.
        if tree.start is not TurnStart.REASONING
        for row in tree.strict.rows
    ]
    begun = turns[0] if turns[0].start is not TurnStart.REASONING else after_reasoning(turns[0])
    return replace(begun, strict=replace(begun.strict, rows=tuple(dict.fromkeys(rows))))


def row_after_reasoning(row: StrictRow, close: str) -> StrictRow | None:
    """Return the rest of a row after the text that closes reasoning, or None without reasoning."""
    for at, item in enumerate(row.items):
        if isinstance(item, PartBody) and item.part is not TurnPart.REASONING:
            return None
        if isinstance(item, str) and close and close in item:
            rest = item.partition(close)[2]
            return replace(row, items=tuple(filter(None, (rest, *row.items[at + 1 :]))))
    return None


class _Readers(Struct, frozen=True):
    """The parts of a parser that the schemas of its tools do not change."""

    usual: TurnReader
    """The reader of a turn, with its calls if it may have any."""
    plain: TurnReader | None
    """The reader for outputs whose calls do not count, so that their text is content, or None."""
    choices: MessageChoices
    """The caller's choices for the message, e.g. `MessageChoices(UNIQUE_IDS, forgive="all")`."""
    tokens: MarkerTokens | None
    """The tokens of the format's markers, or None without a tokenizer."""
    alternative: OutputParser | None
    """The parser that reads an output instead if it opens a call first, or None."""


class OutputParser:
    """Parses the outputs of a model for one request; no text raises.

        parser = analysis.parser(tools)
        message = parser.parse(text)
        stream = parser.stream()
        deltas = [*stream.feed("<think>Hm"), *stream.feed(".</think>Hi"), *stream.finish()]

    Each output that is streamed needs a stream of its own.
    """

    def __init__(
        self,
        turn: TurnTree,
        *,
        reasoning: ReasoningIn = "separate",
        whole_calls: bool = False,
        call_ids: Callable[[str, int], str] | int | None = None,
        tokenizer: ModelTokenizer | None = None,
        strip_code_fence: bool = False,
        unclosed_reasoning: UnclosedReasoning = "calls",
        forgive: Forgiven = "repairs",
        markup: MarkupIn = "keep",
        alternative: OutputParser | None = None,
    ) -> None:
        """Make the parser of an expression.

        `whole_calls` passes on a call only once it closed. `call_ids` makes the ids of calls that
        are written without one; a number is the seed of such a maker. If it makes an empty id,
        OpenAI's form has the call's index instead. With a `tokenizer`, texts come with their ids.
        `strip_code_fence` drops the fence around an answer in JSON. If an `alternative` opens a
        call first, it reads the output. The other options are those of `ParserOptions`.
        """
        self.turn, self._schemas = turn, CallSchemas(turn.schemas)

        def reader(read: TurnTree) -> TurnReader:
            keeps = unclosed_reasoning != "calls"
            return turn_reader_for(read, fenced=strip_code_fence, keeps_reasoning=keeps)

        exact = forgive == "exact" and turn.calls is not None
        ids = call_ids if callable(call_ids) else UNIQUE_IDS
        if isinstance(call_ids, int):
            ids = CallIds(call_ids)
        holds = unclosed_reasoning == "content"
        self._readers = _Readers(
            reader(turn),
            reader(replace(turn, calls=None)) if exact else None,
            MessageChoices(ids, reasoning, whole_calls, forgive, markup, holds),
            None if tokenizer is None else MarkerTokens(turn, tokenizer),
            alternative,
        )

    def offering(self, schemas: Mapping[str, Json]) -> OutputParser:
        """Return this parser for tools of the same names, with their parameters' `schemas`."""
        other = OutputParser.__new__(OutputParser)
        other.turn, other._schemas = replace(self.turn, schemas=schemas), CallSchemas(schemas)  # noqa: SLF001 - of this class
        other._readers = self._readers  # noqa: SLF001 - of this class
        return other

    def __copy__(self) -> OutputParser:
        """Return the parser itself, which no output changes."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> OutputParser:
        """Return the parser itself, which no output changes."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: its readers hold functions, which pickle does not take."""
        raise TypeError(
            "a parser cannot be pickled: pickle the analysis, or save its format for load_format,"
            " and make a parser there"
        )

    def __repr__(self) -> str:
        """Return which tools may be called, in one line."""
        offered = self.turn.offered
        tools = "any tool" if offered is None else ", ".join(map(repr, sorted(offered)))
        return f"<{type(self).__name__} of {tools or 'no tool'}>"

    def may_hold_call(self, text: str) -> bool:
        """Return whether a text may contain a call; False is certain.

        The cost is one search for the texts that open calls, in the prefill and the text.
        """
        alternative = self._readers.alternative
        if alternative is not None and alternative.may_hold_call(text):
            return True
        opens = self._opens_call
        return opens is not None and opens.search(self.turn.prefill + text) is not None

    @cached_property
    def _opens_call(self) -> re.Pattern[str] | None:
        texts = sorted(set(call_stops(self.turn)))
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def reasoning_end_by_ids(self) -> ReasoningEnd:
        """Return the object that finds the end of reasoning in token ids.

        Raises RequestError without a tokenizer, or if no text ends the reasoning.
        """
        tokens = self._readers.tokens
        if tokens is None:
            raise RequestError(
                "a parser without a tokenizer cannot read token ids",
                hint="create the parser with tokenizer=…",
            )
        return ReasoningEnd(self.turn, tokens.tokenizer)

    def parse(
        self, text: str, *, complete: bool = True, ids: Sequence[int] | None = None
    ) -> ParsedMessage:
        """Parse a whole output; `complete=False` marks it as truncated, e.g. by `max_tokens`.

        `ids` are its token ids, for a parser with a tokenizer: a marker with a token of its own is
        text if other tokens spell it. Raises RequestError for ids without a tokenizer.
        """
        stream = self.stream()
        stream.feed(text, ids)
        stream.finish(complete=complete)
        return stream.message

    def stream(self) -> SearchingStream:
        """Return a parser of one output that arrives in pieces."""
        readers = self._readers
        stream: SearchingStream = self._stream(readers.usual)
        if readers.plain is not None:
            stream = ExactStream(self.turn, stream, self._stream(readers.plain))
        if readers.alternative is None:
            return stream
        return EitherStream(stream, readers.alternative.stream())

    def _stream(self, reader: TurnReader) -> TurnStream:
        readers, prefill = self._readers, self.turn.prefill
        collector = MessageCollector(self.turn.offered, self._schemas, readers.choices)
        tokens = readers.tokens
        if tokens is None:
            return TurnStream(reader, collector, prefill=prefill)
        return IdentifiedStream(reader, collector, tokens, prefill=prefill)
