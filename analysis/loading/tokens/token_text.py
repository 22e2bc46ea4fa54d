"""Text as a tokenizer's tokens with their places, and back: nothing added, nothing lost.

Contract: what cannot be encoded or decoded is an AutoparserError that says which text or which
id; no exception of the tokenizer leaves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, Protocol

from autoparser.analysis.core.errors import TokenizerError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

__all__ = ["Encoded", "FastTokenizer", "TokenText"]


class FastTokenizer(Protocol):
    """A fast tokenizer of transformers: it has one of the tokenizers library inside."""

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The one inside."""
        ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a text, in the order of the text: their ids, and what each of them is for.

    A character that makes several tokens is the place of each of them; whitespace that a
    tokenizer leaves out of a token's place belongs to the token after it. Places are looked up
    when they are asked for: to list all of them takes as long as half of the encoding.
    """

    ids: list[int]
    _encoding: Encoding | None
    """None: of no text."""
    _length: int
    """Of the text."""
    _first: int = 0
    """How many tokens of the encoding stand before these."""

    def start(self, at: int) -> int:
        """Return the place of a token's first character."""
        return min(self._place(at)[0], self.end(at - 1)) if at + self._first else 0

    def end(self, at: int) -> int:
        """Return the place after a token's last character."""
        return self._length if at == len(self.ids) - 1 else self._place(at)[1]

    def _place(self, at: int) -> tuple[int, int]:
        found = None if self._encoding is None else self._encoding.token_to_chars(at + self._first)
        return found or (self._length, self._length)

    def ending_by(self, place: int) -> int:
        """Count the tokens that end at this place or before it."""
        if place >= self._length or self._encoding is None:
            return len(self.ids)
        covering = self._encoding.char_to_token(place)
        if covering is None:  # of whitespace that is left out
            return bisect_right(range(len(self.ids)), place, key=self.end)
        return max(0, covering - self._first)

    def starting_before(self, place: int) -> int:
        """Count the tokens that start before this place."""
        return bisect_left(range(len(self.ids)), place, key=self.start)

    def behind(self, place: int) -> Encoded:
        """Return the tokens that end after a place in the text; their own places stay."""
        first = self.ending_by(place)
        return replace(self, ids=self.ids[first:], _first=self._first + first)

    def pieces(self, text: str) -> list[str]:
        """Give each token's part of the text; of those that share a character the first has it."""
        ends = [self.end(at) for at in range(len(self.ids))]
        starts = (self.start(at) for at in range(len(self.ids)))
        return [
            text[max(start, before) : end]
            for start, end, before in zip(starts, ends, [0, *ends], strict=False)
        ]


CONTEXT = 8
"""Tokens before an output that are decoded with it: some decoders treat the first one apart."""


class TokenText:
    """Turns text into ids with their places, and ids into text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Use a tokenizer as it is; it need not be one that llguidance takes."""
        self._tokenizer = tokenizer
        # Ids that are known to be in it: to ask for all of them takes seconds.
        self._seen: set[object] = set()
        self.single = lru_cache(maxsize=256)(self._single)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TokenizerError where there are none."""
        ids = self._encoding(text).ids
        if text.strip() and not ids:
            raise _cannot_encode(text, "it gives no tokens for it")
        return ids

    def _encoding(self, text: str) -> Encoding:
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except Exception as error:
            raise _cannot_encode(text, str(error)) from error

    def encode(self, text: str) -> Encoded:
        """Return the tokens of a text: together their places cover it. Raises TokenizerError."""
        if not text:
            return Encoded([], None, 0)
        encoding = self._encoding(text)
        ids = encoding.ids
        last = encoding.token_to_chars(len(ids) - 1) if ids else None
        rest = text if last is None else text[last[1] :]
        if rest.strip() or not ids:
            raise _cannot_encode(rest, "no token is for it")
        found = Encoded(ids, encoding, len(text))
        self._check_known(text, found)
        return found

    def _check_known(self, text: str, found: Encoded) -> None:
        unknown = self._unknown
        if unknown is None or unknown not in found.ids:
            return
        for id_, piece in zip(found.ids, found.pieces(text), strict=True):
            if id_ == unknown and piece != self._unknown_token:
                raise _cannot_encode(piece, "it is unknown to it")

    @cached_property
    def _unknown_token(self) -> str | None:
        token: object = getattr(self._tokenizer.model, "unk_token", None)
        return token if isinstance(token, str) else None

    @cached_property
    def _unknown(self) -> int | None:
        token = self._unknown_token
        return None if token is None else self.single(token)

    def gives_back(self, encoded: Encoded, text: str, before: Sequence[int]) -> bool:
        """Whether the tokens of a text, after others, are decoded to that text."""
        return self._byte_level or self.decode(encoded.ids, before) == text

    @cached_property
    def _byte_level(self) -> bool:
        """Whether every text comes back: each of its bytes has a token, and nothing changes it."""
        from tokenizers import decoders, pre_tokenizers  # noqa: PLC0415 - slow to import

        tokenizer = self._tokenizer
        return (
            tokenizer.normalizer is None
            and isinstance(tokenizer.decoder, decoders.ByteLevel)
            and all(
                tokenizer.token_to_id(letter) is not None
                for letter in pre_tokenizers.ByteLevel.alphabet()
            )
        )

    def decode(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """Return the text of ids that stand after others; special tokens are written out.

        Raises TokenizerError for an id that the vocabulary does not have.
        """
        context = list(before[-CONTEXT:])
        try:
            head = self._tokenizer.decode(context, skip_special_tokens=False) if context else ""
            text = self._tokenizer.decode([*context, *ids], skip_special_tokens=False)
        except Exception as error:  # an id beyond what the tokenizer's numbers hold
            bad = next((id_ for id_ in ids if not self._has(id_)), None)
            raise _unknown_id(bad) from error
        return text.removeprefix(head)

    def decode_between(self, ids: Sequence[int], start: int, end: int) -> str:
        """Return the text of the ids between two places. Raises as `decode` does."""
        return self.decode(ids[start:end], ids[max(0, start - CONTEXT) : start])

    def check(self, given: object, what: str, first: int = 0) -> None:
        """Raise TokenizerError where an id is not in the vocabulary, or these are not ids.

        `first` is the place of the first of them in what the caller gave.
        """
        ids: Any = given
        with suppress(TypeError):  # of what is not a list, or an item that is not a number
            if self._seen.issuperset(ids):
                return
            new = set(ids).difference(self._seen)
            if all(map(self._has, new)):
                self._seen |= new
                return
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TokenizerError(
                f"{type(given).__name__} is not a list of token ids",
                place=what,
                hint="give a list of integers",
            )
        at, bad = next((at, id_) for at, id_ in enumerate(ids) if not self._has(id_))
        raise _unknown_id(bad, f"{what}[{first + at}]")

    def _single(self, text: str) -> int | None:
        """Return the id of the one token that this text is; None where it is several."""
        known = self._tokenizer.token_to_id(text)
        if known is not None:
            return known
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids if text else []
        return tokens[0] if len(tokens) == 1 else None

    def _has(self, id_: Any) -> bool:
        try:
            return self._tokenizer.id_to_token(index(id_)) is not None
        except (TypeError, OverflowError):  # of what is not a number, and of one below 0
            return False


def _unknown_id(id_: object, place: str | None = None) -> TokenizerError:
    return TokenizerError(
        f"the id {id_!r} is not in the vocabulary",
        place=place,
        hint="give integers, ids of the tokenizer that was given",
    )


def _cannot_encode(text: str, reason: str) -> TokenizerError:
    broken = next((at for at, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), None)
    if broken is not None:
        before = text[max(0, broken - 20) : broken]
        return TokenizerError(
            f"half of a pair of UTF-16 ({text[broken]!r}) stands after {before!r}",
            place=f"character {broken} of the prompt",
            hint="no tokenizer encodes it: put the whole character there",
        )
    return TokenizerError(
        f"the tokenizer cannot encode {text[:40]!r} ({reason})",
        hint="give the tokenizer of the template's model",
    )
