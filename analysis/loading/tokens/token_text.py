"""Text as a tokenizer's tokens with their places, and back: nothing added, nothing lost.

Contract: what cannot be encoded or decoded is an AutoparserError that says which text or which
id; no exception of the tokenizer leaves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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


class Encoded(NamedTuple):
    """The tokens of a text: their ids, and the characters that each is for."""

    ids: list[int]
    starts: list[int]
    ends: list[int]

    def behind(self, place: int) -> Encoded:
        """Return the tokens that end after a place in the text; their own places stay."""
        first = bisect_right(self.ends, place)
        return Encoded(self.ids[first:], self.starts[first:], self.ends[first:])

    def pieces(self, text: str) -> list[str]:
        """Give each token's part of the text; of those that share a character the first has it."""
        return [
            text[max(start, before) : end]
            for start, end, before in zip(self.starts, self.ends, [0, *self.ends], strict=False)
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
        """Return the tokens of a text: together their places cover it.

        A character that makes several tokens is the place of each of them; whitespace that a
        tokenizer leaves out of a token's place belongs to the token after it.
        """
        if not text:
            return Encoded([], [], [])
        encoding = self._encoding(text)
        ids = encoding.ids
        starts, ends = _places(encoding.offsets)
        rest = text[ends[-1] :] if ids else text
        if rest.strip() or not ids:
            raise _cannot_encode(rest, "no token is for it")
        ends[-1] = len(text)
        found = Encoded(ids, starts, ends)
        self._check_known(text, found)
        return found

    def _check_known(self, text: str, found: Encoded) -> None:
        unknown = self._unknown
        if unknown is None or unknown not in found.ids:
            return
        for id_, start, end in zip(*found, strict=True):
            if id_ == unknown and text[start:end] != self._unknown_token:
                raise _cannot_encode(text[start:end], "it is unknown to it")

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


def _places(offsets: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return where each token begins and ends, so that no character lies between two."""
    starts, ends = map(list, zip(*offsets, strict=True)) if offsets else ([], [])
    if starts[1:] == ends[:-1] and starts[:1] == [0]:
        return starts, ends
    last = 0
    for at, end in enumerate(ends):
        starts[at] = min(starts[at], last)
        ends[at] = last = max(last, end)
    return starts, ends


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
