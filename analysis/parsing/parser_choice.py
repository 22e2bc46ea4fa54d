"""Read one output in two ways: in the template's format, and in another one that was learned.

Text that both have found is passed on at once. The first that opens a call is chosen; if neither
does, the template's is, unless it alone has an irregular status. `ExactStream` chooses between the
calls of a turn and plain text: calls count only if the turn is as the template writes it.

Owed to `StreamParser`: until one is chosen, only text that both have found is passed on, so that
the deltas of the chosen one go on where that text ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace as replace_fields

from autoparser.analysis.core.conversation import ToolCall
from autoparser.analysis.core.turn_parts import TurnPart

from .parsed_message import (
    Delta,
    DeltaKind,
    ParsedMessage,
    Status,
)
from .stream_parser import SearchingStream
from .turn_nodes import StrictRow, TurnTree

_TEXTS = (DeltaKind.CONTENT, DeltaKind.REASONING)


class EitherStream(SearchingStream):
    """Reads one output with two `StreamParser`s, with the same methods."""

    def __init__(self, own: SearchingStream, other: SearchingStream) -> None:
        """Begin; `own` reads the template's format."""
        self._readers = (own, other)
        self._waiting: tuple[list[Delta], list[Delta]] = ([], [])
        self._chosen: int | None = None

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Read a piece of text; return the deltas that it adds."""
        if self._chosen is not None:
            return self._readers[self._chosen].feed(text, ids)
        for reader, waiting in zip(self._readers, self._waiting, strict=True):
            waiting.extend(reader.feed(text, ids))
        return self._certain()

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """End the text; return the remaining deltas, the last of which is the finish reason."""
        if self._chosen is not None:
            return self._readers[self._chosen].finish(complete=complete)
        for reader, waiting in zip(self._readers, self._waiting, strict=True):
            waiting.extend(reader.finish(complete=complete))
        certain = self._certain()
        if self._chosen is None:
            # No call was opened: prefer the template's format unless it alone is irregular.
            self._chosen = self._choose(*(reader.message for reader in self._readers))
            certain += self._waiting[self._chosen]
        return certain

    def _choose(self, own: ParsedMessage, other: ParsedMessage) -> int:
        """Return the number of the reading that counts where neither has opened a call."""
        return int(not own.status.regular and other.status.regular)

    @property
    def reasoning_end(self) -> int | None:
        """The offset after the closer of the reasoning, as in the message."""
        return self._readers[self._chosen or 0].reasoning_end

    @property
    def searching(self) -> bool:
        """Whether a search for calls has begun in what one of the two could not read."""
        return any(reader.searching for reader in self._readers)

    def read_on(self) -> None:
        """Read the text that waits for the closer of a call, as far as possible."""
        for reader in self._readers:
            reader.read_on()

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        return self._readers[self._chosen or 0].message

    def _certain(self) -> list[Delta]:
        """Return the text that both have found, and all deltas of one that opens a call."""
        certain = self._common()
        for number, waiting in enumerate(self._waiting):
            if any(delta.kind is DeltaKind.CALL for delta in waiting):
                self._chosen = number
                return [*certain, *waiting]
        return certain

    def _common(self) -> list[Delta]:
        """Return the text that both have found."""
        certain: list[Delta] = []
        own, other = self._waiting
        # Only texts can be passed on in part.
        while own and other and own[0].kind is other[0].kind and own[0].kind in _TEXTS:
            size = min(len(own[0].text), len(other[0].text))
            # From here on the two read differently, so it is not certain what counts.
            if own[0].text[:size] != other[0].text[:size]:
                break
            certain.append(Delta(own[0].kind, own[0].text[:size]))
            for waiting in (own, other):
                waiting[0] = Delta(waiting[0].kind, waiting[0].text[size:])
                if not waiting[0].text:
                    waiting.pop(0)
        return certain


class ExactStream(EitherStream):
    """Reads one output whose calls count only if the turn is as the template writes it.

    Text is passed on as it comes; calls, or their text as content, once the output has ended.
    """

    def __init__(self, turn: TurnTree, own: SearchingStream, plain: SearchingStream) -> None:
        """Begin; to `plain` nothing is a call."""
        super().__init__(own, plain)
        self._turn = turn
        self._pieces: list[str] = []

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Read a piece of text; return the deltas that it adds."""
        self._pieces.append(text)
        return super().feed(text, ids)

    def _certain(self) -> list[Delta]:
        # A call counts only if the whole turn is as the template writes it.
        return self._common()

    def _choose(self, own: ParsedMessage, other: ParsedMessage) -> int:
        """Return the first if it has no call, or if the turn is as the template writes it."""
        del other
        text = "".join(self._pieces)
        return int(bool(own.begun_calls) and not is_written_turn(self._turn, text, own))

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        message = super().message
        if self._chosen != 1:
            return message
        return replace_fields(message, status=Status.NEEDS_REPAIRS)


def is_written_turn(turn: TurnTree, text: str, message: ParsedMessage) -> bool:
    """Return whether a turn with calls is as the template writes the message that was read."""
    calls = turn.strict.calls
    if calls is None or message.partial_call is not None:
        return False
    try:
        given = [
            ToolCall(call.name, json.loads(call.arguments), call.id) for call in message.tool_calls
        ]
    except (ValueError, RecursionError):
        return False
    written = calls.write(given)
    if calls.arguments.verbatim and not calls.arguments.encoded:
        # The template inserts JSON text verbatim, with any spaces.
        for call, read in zip(given, message.tool_calls, strict=True):
            dumped = json.dumps(dict(call.arguments), ensure_ascii=False)
            if read.arguments not in written:
                written = written.replace(dumped, read.arguments, 1)
    return any(
        _row_pattern(row, written).fullmatch(text) is not None
        for row in turn.strict.rows
        if row.has(TurnPart.CALLS)
    )


def _row_pattern(row: StrictRow, written: str) -> re.Pattern[str]:
    """Return the pattern of a turn by a row, with its calls as they are written."""
    pieces: list[str] = []
    for item in row.items:
        if isinstance(item, str):
            pieces.append(re.escape(item))
        elif item.part is TurnPart.CALLS:
            pieces.append(re.escape(written.removeprefix(item.written_start)))
        else:
            # Reasoning and content are compared by their markers alone.
            pieces.append("(?s:.*?)")
    end = row.end
    pieces.append(rf"(?:{re.escape(end.before + end.core)}(?:{re.escape(end.after)})?)?")
    return re.compile("".join(pieces))
