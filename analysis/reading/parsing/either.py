"""Two parsers of one output: the template's way of writing, and another one that was learnt.

Both read. What both have found is given at once; the first that opens a call has told which of the
two ways the model took, and the other is left. Where neither does, the template's counts, unless it
alone is at fault.
"""

from __future__ import annotations

from collections.abc import Sequence

from .parsed_message import Delta, DeltaKind, ParsedMessage
from .parser import OutputParser
from .stream import StreamParser

__all__ = ["EitherParser", "EitherStream"]

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
