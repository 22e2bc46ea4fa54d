"""Markers that came as ordinary text: told from tokens by the ids, and hidden from the readers.

Take `<call>`, a token of its own, and a model that writes `<call>` with that token, then quotes it
with the ordinary ones `<`, `call`, `>`. The text is the same; the ids say that the second is text.
Its last character is replaced by a stand-in, one that no decoder gives and no marker has, so that
no reader takes it for a marker, nothing has to be held back for it, and every position stays as it
is. What the readers give is put back as it was.

Engines give text later than ids, where a character is not whole yet, and not always cut alike. So
text and ids are not laid side by side: the first, second, third time that a marker is spelled in
the text is the first, second, third time that it is spelled by the ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from autoparser.analysis.core.alignment import is_unit
from autoparser.analysis.core.value_kind import is_mapping, is_row
from autoparser.analysis.reading.expression import Turn

from .parsed_message import Delta, DeltaKind, ParsedCall, ParsedMessage

if TYPE_CHECKING:
    from autoparser.analysis.loading.tokens import ModelTokenizer

_STAND_IN = 0xDBE0
"""The first stand-in: half of a pair of UTF-16, which in no decoded text stands alone."""


class MarkerTokens:
    """The added tokens of a tokenizer that are markers of a turn."""

    def __init__(self, turn: Turn, tokenizer: ModelTokenizer) -> None:
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


class Spelled:
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
