"""The promise of streaming parsers: no delta is revised, and the deltas add up to the message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from .parsed_message import Delta, ParsedMessage


@runtime_checkable
class StreamParser(Protocol):
    """Parses one output in pieces.

        stream = parser.stream()
        deltas = [*stream.feed("Hel"), *stream.feed("lo."), *stream.finish()]
        stream.message.content  # 'Hello.'

    Contract: a delta is never revised; the deltas add up to the message, however the text is cut
    into pieces. Seven modules ensure it:

    - `text_tape`: no text is read twice, and each character is in one span;
    - `text_lookahead`: the prefix of a possible stop is held back;
    - `raw_text`: a value is held back from the first place where it may have ended;
    - `section_reader`: a call becomes content only if none of its arguments were sent;
    - `message_collector`: whitespace and the beginning of a call wait for the next text;
    - `parser_choice`: of two readings, only the text that both have found is passed on undecided;
    - `marker_tokens`: the sign of a hidden marker is replaced before a delta leaves.

    Each states its part of the contract at its head.
    """

    def __repr__(self) -> str:
        """Return the message so far, in one line."""
        return f"<StreamParser: {self.message!r}>"

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Read a piece of text; return the deltas that it adds.

        `ids` are the new token ids, for a parser made with a tokenizer. Raises RequestError for ids
        without one, for a text that is not a string, and for any text after `finish`.
        """
        ...

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """End the text; return the remaining deltas, the last of which is the finish reason."""
        ...

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        ...

    @property
    def reasoning_end(self) -> int | None:
        """The offset after the closer of the reasoning, as in the message."""
        ...


class SearchingStream(StreamParser, Protocol):
    """A stream that also says how far it has come, which the explanation of an output asks."""

    @property
    def searching(self) -> bool:
        """Whether a call could not be read, and a search for calls in its text has begun."""
        ...

    def read_on(self) -> None:
        """Read the text that waits for the closer of a call, as far as possible."""
        ...
