r"""Read markers by token ids: which are spelled by ordinary tokens, and where reasoning ends.

- `SpelledMarkers` hides markers from the readers that came as ordinary text, and restores them.
- `ReasoningEnd` is a pure function, state and new ids -> state, for engines that ask between two
  steps of generation. It keeps no text and no ids: a state is a few numbers and may be stored,
  compared and reused.

In an output that quotes a marker, only the one that is a token of its own counts:

    <think>\nA </think> ends it.\n</think>\n\nHi.    ->  reasoning "A </think> ends it."
               ordinary tokens    one token            content   "Hi."

Owed to `StreamParser`: every stand-in for a hidden character is replaced in deltas and messages
alike, each by itself, so that no delta is changed later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from autoparser.analysis.core.error_words import (
    is_mapping,
    is_row,
)
from autoparser.analysis.core.text_alignment import is_unit

from .json_text import in_json
from .parsed_message import Delta, DeltaKind, ParsedCall, ParsedMessage
from .turn_nodes import TurnStart, TurnTree
from .turn_request import RequestError

if TYPE_CHECKING:
    from autoparser.analysis.sources.tokenizer import ModelTokenizer


# Markers spelled by ordinary tokens.
#
# `<call>` may be one token, and a model may also quote it with the ordinary tokens `<`, `call`,
# `>`. The text is the same, but the ids show that the second one is text. Its last character is
# replaced by a stand-in that no decoder returns and no marker contains: no reader takes it for a
# marker, nothing is held back for it, and offsets stay the same. The results of the readers are
# restored.
#
# Engines return text later than ids if a character is incomplete, and not always cut in the same
# places. So text and ids are not aligned: the nth occurrence of a marker in the text is the nth
# occurrence in the ids.


_STAND_IN = 0xDBE0
"""The first stand-in: a UTF-16 surrogate, which no decoded text contains."""


class MarkerTokens:
    """The added tokens of a tokenizer that are markers of a turn."""

    def __init__(self, turn: TurnTree, tokenizer: ModelTokenizer) -> None:
        """Find the added tokens that look like markers and occur in a text of the turn."""
        self.tokenizer = tokenizer
        self.added = tokenizer.added_by_id
        written = tuple(_texts((turn.header, turn.reasoning, turn.content, turn.ends, turn.strict)))
        self.texts = tuple(
            token.text
            for token in tokenizer.added
            # Words are tokens, too, and none of them is hidden.
            if is_unit(token.text) and any(token.text in text for text in written)
        )

    @cached_property
    def stand_ins(self) -> Mapping[str, str]:
        """The stand-in by the last character of a marker."""
        lasts = dict.fromkeys(text[-1] for text in self.texts)
        return {last: chr(_STAND_IN + at) for at, last in enumerate(lasts)}

    @cached_property
    def in_text(self) -> Mapping[int, str]:
        """The replaced characters by stand-in, for `str.translate`."""
        return {ord(stand_in): last for last, stand_in in self.stand_ins.items()}

    @cached_property
    def in_json(self) -> Mapping[int, str]:
        """The same, escaped for a JSON string."""
        return {code: in_json(last) for code, last in self.in_text.items()}


def _texts(value: object) -> Iterator[str]:
    """Return every text in a value made of structs, mappings and rows."""
    if isinstance(value, str):
        yield value
    elif is_mapping(value):
        yield from _texts((*value.values(),))
    elif is_row(value):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _texts(getattr(value, name))


class SpelledMarkers:
    """Finds the markers in one output that are spelled by ordinary tokens."""

    def __init__(self, tokens: MarkerTokens) -> None:
        """Begin an output."""
        self.tokens = tokens
        self._hides = False
        self._begin()

    def _begin(self) -> None:
        texts = self.tokens.texts
        self._by_text = _Occurrences(texts)
        # An ordinary token may be part of a character, so bytes are compared, as Latin-1 text.
        self._by_ids = _Occurrences([_bytewise(text.encode()) for text in texts])
        self._plain: list[list[bool]] = [[] for _ in texts]
        self._seen_counts = [0 for _ in texts]

    def hide(self, text: str, ids: Sequence[int] | None) -> str:
        """Take the next piece of text and the new ids; return the piece for the readers.

        Without ids the piece is returned unchanged, and the count starts again.
        """
        if ids is None:
            self._begin()
            return text
        self._count(ids)
        hidden: list[int] = []
        for at, marker in self._by_text.ending_in(text):
            number = self._seen_counts[marker]
            self._seen_counts[marker] = number + 1
            if self._plain[marker][number : number + 1] == [True]:
                hidden.append(at)
        if not hidden:
            return text
        self._hides = True
        characters = list(text)
        for at in hidden:
            characters[at] = self.tokens.stand_ins[text[at]]
        return "".join(characters)

    def _count(self, ids: Sequence[int]) -> None:
        """Store for each marker that these ids spell whether an ordinary token ends it."""
        piece, added = self.tokens.tokenizer.piece, self.tokens.added
        for id_ in ids:
            written = piece(id_)
            for _, marker in self._by_ids.ending_in(_bytewise(written)):
                self._plain[marker].append(id_ not in added)

    def restore_deltas(self, deltas: list[Delta]) -> list[Delta]:
        """Restore hidden characters in deltas."""
        return [self._delta(delta) for delta in deltas] if self._hides else deltas

    def _delta(self, delta: Delta) -> Delta:
        in_json = delta.kind is DeltaKind.ARGUMENTS
        table = self.tokens.in_json if in_json else self.tokens.in_text
        return Delta(delta.kind, delta.text.translate(table), delta.index, self._text(delta.id))

    def restore_message(self, message: ParsedMessage) -> ParsedMessage:
        """Restore hidden characters in a message."""
        # Almost no output quotes a marker.
        if not self._hides:
            return message
        content, reasoning = message.content, message.reasoning_content
        partial = message.partial_call
        return replace(
            message,
            content=None if content is None else self._text(content),
            reasoning_content=None if reasoning is None else self._text(reasoning),
            tool_calls=tuple(map(self._call, message.tool_calls)),
            partial_call=None if partial is None else self._call(partial),
        )

    def _call(self, call: ParsedCall) -> ParsedCall:
        return replace(
            call,
            name=self._text(call.name),
            id=self._text(call.id),
            arguments=call.arguments.translate(self.tokens.in_json),
        )

    def _text(self, text: str) -> str:
        return text.translate(self.tokens.in_text)


def _bytewise(text: bytes) -> str:
    return text.decode("latin-1")


class _Occurrences:
    """Finds the ends of wanted texts in a text that comes in pieces."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = tuple(wanted)
        self._reach = max(map(len, wanted), default=1) - 1
        self._before = ""
        lasts = "".join(sorted({text[-1] for text in wanted}))
        self._lasts = re.compile(f"[{re.escape(lasts)}]" if lasts else "(?!)")

    def ending_in(self, more: str) -> Sequence[tuple[int, int]]:
        """Return (offset of the last character in `more`, index of the text) of each match."""
        text = self._before + more
        offset = len(self._before)
        self._before = text[-self._reach :] if self._reach else ""
        if self._lasts.search(more) is None:
            return ()
        return [
            (match.start(), number)
            for match in self._lasts.finditer(more)
            for number, wanted in enumerate(self._wanted)
            if text.endswith(wanted, 0, offset + match.end())
        ]


class ReasoningProgress(StrEnum):
    """The progress of an output's reasoning."""

    UNDECIDED = "undecided"
    """The text so far may still become the marker that opens the reasoning."""
    OPEN = "open"
    OVER = "over"
    """The reasoning has closed, or the output began without any."""


class ReasoningState(Struct, frozen=True):
    """The state after some ids."""

    thinking: ReasoningProgress
    """How far the reasoning is, e.g. `ReasoningProgress.OPEN`."""
    ids: int = 0
    """Number of ids read, e.g. 8 for "<think>a" by characters; once the reasoning is over, of those
    that contain it, 0 if none do."""
    begun: bytes = b""
    """While undecided: the bytes written so far, e.g. b"<thi"."""
    matched: int = 0
    """While open: the match of the closing marker at the end so far, e.g. 4 for "</th"."""

    @property
    def over(self) -> bool:
        """Whether the reasoning has ended."""
        return self.thinking is ReasoningProgress.OVER


class ReasoningEnd:
    """Follows the ids of outputs after one prompt: maps a state and new ids to the next state.

    A marker that is one token is matched as that token only; a marker of several tokens is matched
    however it is cut, also in the middle of a token.
    """

    def __init__(self, turn: TurnTree, tokenizer: ModelTokenizer) -> None:
        """Prepare for outputs of this turn. Raises RequestError if no text ends reasoning."""
        from autoparser.analysis.sources.token_bytes import SearchMarker  # noqa: PLC0415 - a tokenizer is here

        self._tokenizer = tokenizer
        self._units: dict[int, bytes] = {}
        reasoning = turn.reasoning
        if reasoning is None or turn.start is TurnStart.CONTENT:
            self.begin = ReasoningState(ReasoningProgress.OVER)
            """The state before the first id."""
            return
        if not reasoning.close.core:
            raise RequestError("the format has no end marker for reasoning")
        self._close = SearchMarker(self._bytes_of_marker(reasoning.close.core))
        opening = self._bytes_of_marker(reasoning.open.core)
        header = turn.header
        self._opens = (opening, self._bytes_of_marker(header.core + header.after) + opening)
        opened = turn.start is TurnStart.REASONING or reasoning.leads
        self.begin = ReasoningState(
            ReasoningProgress.OPEN if opened else ReasoningProgress.UNDECIDED
        )

    def after(self, state: ReasoningState, ids: Sequence[int]) -> ReasoningState:
        """Return the state after these ids, which follow those that led to `state`."""
        for id_ in ids:
            if state.over:
                break
            # The token of a marker has bytes that no other token has.
            state = self._step(state, self._units.get(id_) or self._tokenizer.piece(id_))
        return state

    def _step(self, state: ReasoningState, new_bytes: bytes) -> ReasoningState:
        """Read the bytes of one id."""
        ids = state.ids + 1
        if state.thinking is ReasoningProgress.UNDECIDED:
            # Models write whitespace before the opener; it is not an answer yet.
            begun = (state.begun + new_bytes).lstrip()
            opening = next((text for text in self._opens if text and begun.startswith(text)), None)
            if opening is None:
                if any(text.startswith(begun) for text in self._opens):
                    return ReasoningState(ReasoningProgress.UNDECIDED, ids, begun)
                # Text that does not open reasoning is the answer itself.
                return ReasoningState(ReasoningProgress.OVER)
            new_bytes = begun[len(opening) :]
        matched, rest = self._close.read(state.matched, new_bytes)
        if rest is not None:
            return ReasoningState(ReasoningProgress.OVER, ids)
        return ReasoningState(ReasoningProgress.OPEN, ids, matched=matched)

    def _bytes_of_marker(self, marker: str) -> bytes:
        """Return the bytes of a marker, with unique bytes for the added tokens in it."""
        added = {token.text: token.id for token in self._tokenizer.added if token.text.strip()}
        longest = sorted(filter(marker.__contains__, added), key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, longest)) or '(?!)'})", marker)
        written = b""
        for at, piece in enumerate(pieces):
            if at % 2:
                # 0xFF occurs in no UTF-8 text.
                written += self._units.setdefault(added[piece], b"\xff%d\xff" % added[piece])
            else:
                written += piece.encode()
        return written
