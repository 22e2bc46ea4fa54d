"""Where reasoning ends, by token ids: a pure function, a step as long as its new ids.

An engine asks it between two steps of generation, say to let a grammar begin. It keeps no text and
no ids: a state is a few numbers, may be kept, compared, and gone back to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import cached_property
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import is_mapping, is_row
from autoparser.analysis.core.text_alignment import is_unit

from .parsed_message import Delta, DeltaKind, ParsedCall, ParsedMessage
from .turn_request import RequestError, TurnStart, TurnTree

if TYPE_CHECKING:
    from autoparser.analysis.sources.tokenizer import ModelTokenizer


# Markers that came as ordinary text: told from tokens by the ids, and hidden from the readers.
#
# Take `<call>`, a token of its own, and a model that writes `<call>` with that token, then quotes
# it with the ordinary ones `<`, `call`, `>`. The text is the same; the ids say that the second is
# text. Its last character is replaced by a stand-in, one that no decoder gives and no marker has,
# so that no reader takes it for a marker, nothing has to be held back for it, and every position
# stays as it is. What the readers give is put back as it was.
#
# Engines give text later than ids, where a character is not whole yet, and not always cut alike.
# So text and ids are not laid side by side: the first, second, third time that a marker is
# spelled in the text is the first, second, third time that it is spelled by the ids.


_STAND_IN = 0xDBE0
"""The first stand-in: half of a pair of UTF-16, which in no decoded text stands alone."""


class MarkerTokens:
    """The added tokens of a tokenizer that are markers of a turn."""

    def __init__(self, turn: TurnTree, tokenizer: ModelTokenizer) -> None:
        """Find them: what looks like a marker and stands in a text that the turn writes."""
        self.tokenizer = tokenizer
        # The table is made here, once for a tokenizer, and not with the first text.
        self.bytes, self.added = tokenizer.token_bytes, tokenizer.added_by_id
        written = tuple(_texts((turn.header, turn.reasoning, turn.content, turn.ends, turn.strict)))
        self.texts = tuple(
            token.text
            for token in tokenizer.added
            if is_unit(token.text) and any(token.text in text for text in written)
        )

    @cached_property
    def stand_ins(self) -> Mapping[str, str]:
        """What stands for each last character of a marker."""
        lasts = dict.fromkeys(text[-1] for text in self.texts)
        return {last: chr(_STAND_IN + at) for at, last in enumerate(lasts)}

    @cached_property
    def in_text(self) -> Mapping[int, str]:
        """For `str.translate`: the characters that were replaced."""
        return {ord(stand_in): last for last, stand_in in self.stand_ins.items()}

    @cached_property
    def in_json(self) -> Mapping[int, str]:
        """The same, as they stand in a string of JSON."""
        return {code: encode_basestring(last)[1:-1] for code, last in self.in_text.items()}


def _texts(value: object) -> Iterator[str]:
    """Return every text in a value made of dataclasses and rows."""
    if isinstance(value, str):
        yield value
    elif is_mapping(value):
        yield from _texts((*value.values(),))
    elif is_row(value):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name))


class SpelledMarkers:
    """Which of the markers in one output are spelled by ordinary tokens."""

    def __init__(self, tokens: MarkerTokens) -> None:
        """Begin an output."""
        self.tokens = tokens
        self._hides = False
        self._begin()

    def _begin(self) -> None:
        texts = self.tokens.texts
        self._by_text = _Occurrences(texts)
        # An ordinary token may hold a part of a character: bytes are compared, as characters.
        self._by_ids = _Occurrences([_bytewise(text.encode()) for text in texts])
        self._plain: list[list[bool]] = [[] for _ in texts]
        self._seen = [0 for _ in texts]

    def hide(self, text: str, ids: Sequence[int] | None) -> str:
        """Take the next piece of text, and the ids that are new; return the piece for the readers.

        Without ids the piece is taken as it is, and what comes with ids later begins anew.
        """
        if ids is None:
            self._begin()
            return text
        self._count(ids)
        hidden: list[int] = []
        for at, marker in self._by_text.ending_in(text):
            number = self._seen[marker]
            self._seen[marker] = number + 1
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
        """Note for each marker that these ids spell whether an ordinary token ends it."""
        table, added = self.tokens.bytes, self.tokens.added
        for id_ in ids:
            written = table[id_] if 0 <= id_ < len(table) else b""
            for _, marker in self._by_ids.ending_in(_bytewise(written)):
                self._plain[marker].append(id_ not in added)

    def shown(self, deltas: list[Delta]) -> list[Delta]:
        """Put back what was hidden in deltas."""
        return [self._delta(delta) for delta in deltas] if self._hides else deltas

    def _delta(self, delta: Delta) -> Delta:
        in_json = delta.kind is DeltaKind.ARGUMENTS
        table = self.tokens.in_json if in_json else self.tokens.in_text
        return Delta(delta.kind, delta.text.translate(table), delta.index, self._text(delta.id))

    def whole(self, message: ParsedMessage) -> ParsedMessage:
        """Put back what was hidden in a message."""
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
    """Finds where texts end in a longer one, as that comes."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = tuple(wanted)
        self._reach = max(map(len, wanted), default=1) - 1
        self._before = ""
        lasts = "".join(sorted({text[-1] for text in wanted}))
        self._lasts = re.compile(f"[{re.escape(lasts)}]" if lasts else "(?!)")

    def ending_in(self, more: str) -> Sequence[tuple[int, int]]:
        """Return the places in `more` where one ends, its last character's, and its number."""
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
    """Where an output stands."""

    UNDECIDED = "undecided"
    """What was written may still become the marker that opens the reasoning."""
    OPEN = "open"
    OVER = "over"
    """The reasoning has closed, or the output began without any."""


@dataclass(frozen=True, slots=True)
class ReasoningState:
    """What is known after some ids."""

    thinking: ReasoningProgress
    ids: int = 0
    """How many were read; once the reasoning is over, those that hold it, 0 where there is none."""
    begun: bytes = b""
    """While undecided: what was written."""
    matched: int = 0
    """While open: how much of the marker that closes it stands at the end."""

    @property
    def over(self) -> bool:
        """Whether the reasoning has ended."""
        return self.thinking is ReasoningProgress.OVER


class ReasoningEnd:
    """Follows the ids of outputs after one prompt; a state goes in, the next one comes out.

    A marker that is a token of its own is seen as that token alone; one that is several tokens is
    seen however it is cut, also in the middle of a token.
    """

    def __init__(self, turn: TurnTree, tokenizer: ModelTokenizer) -> None:
        """Prepare for outputs of this turn. Raises RequestError where no text ends reasoning."""
        from autoparser.analysis.sources.token_bytes import SearchMarker  # noqa: PLC0415 - a tokenizer is here

        # The table is made here, once for a tokenizer, and not with the first id.
        self._bytes, self._added = tokenizer.token_bytes, tokenizer.added
        self._units: dict[int, bytes] = {}
        reasoning = turn.reasoning
        if reasoning is None or turn.start is TurnStart.CONTENT:
            self.begin = ReasoningState(ReasoningProgress.OVER)
            """The state before the first id."""
            return
        if not reasoning.close.core:
            raise RequestError("the reasoning has no text that ends it")
        self._close = SearchMarker(self._written(reasoning.close.core))
        opening = self._written(reasoning.open.core)
        header = turn.header
        self._opens = (opening, self._written(header.core + header.after) + opening)
        opened = turn.start is TurnStart.REASONING or reasoning.leads
        self.begin = ReasoningState(
            ReasoningProgress.OPEN if opened else ReasoningProgress.UNDECIDED
        )

    def after(self, state: ReasoningState, ids: Sequence[int]) -> ReasoningState:
        """Return the state after these ids, which follow on those that led to `state`."""
        for id_ in ids:
            if state.over:
                break
            state = self._step(state, self._bytes_of(id_))
        return state

    def _step(self, state: ReasoningState, written: bytes) -> ReasoningState:
        """Read the bytes of one id."""
        ids = state.ids + 1
        if state.thinking is ReasoningProgress.UNDECIDED:
            begun = (state.begun + written).lstrip()
            opening = next((each for each in self._opens if each and begun.startswith(each)), None)
            if opening is None:
                if any(each.startswith(begun) for each in self._opens):
                    return ReasoningState(ReasoningProgress.UNDECIDED, ids, begun)
                # What opens nothing is the answer itself.
                return ReasoningState(ReasoningProgress.OVER)
            written = begun[len(opening) :]
        matched, rest = self._close.read(state.matched, written)
        if rest is not None:
            return ReasoningState(ReasoningProgress.OVER, ids)
        return ReasoningState(ReasoningProgress.OPEN, ids, matched=matched)

    def _bytes_of(self, id_: int) -> bytes:
        """Return what an id writes; for a token of the markers, what no other id writes."""
        unit = self._units.get(id_)
        if unit is not None:
            return unit
        return self._bytes[id_] if 0 <= id_ < len(self._bytes) else b""

    def _written(self, marker: str) -> bytes:
        """Return a marker as its ids write it, those tokens in it noted that are its own."""
        added = {each.text: each.id for each in self._added if each.text.strip()}
        longest = sorted(filter(marker.__contains__, added), key=len, reverse=True)
        pieces = re.split(f"({'|'.join(map(re.escape, longest)) or '(?!)'})", marker)
        written = b""
        for at, piece in enumerate(pieces):
            if at % 2:
                # Bytes that no text has.
                written += self._units.setdefault(added[piece], b"\xff%d\xff" % added[piece])
            else:
                written += piece.encode()
        return written
