"""A model's tokenizer, whatever it came from: its added tokens, its ends, its ids as exact bytes.

What costs is done when it is first asked for: to load a large one into llguidance takes a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TokenizerError

from .index import TokenIndex
from .opaque import opaque_json
from .special_cuts import OpaqueTokens, opaque_tokens
from .token_text import TokenText

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from tokenizers import Tokenizer

__all__ = ["AddedToken", "Eos", "ModelTokenizer"]

Eos = int | str | Sequence[int | str]
"""Tokens that end an answer, by id or by text."""

KEPT = 8
"""Tokenizers in llguidance that are cached; the oldest goes first."""

_loaded: dict[str, LLTokenizer] = {}
_lock = Lock()


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that stands beside the learnt vocabulary."""

    id: int
    text: str
    special: bool
    """Whether decoding drops it (a control token); those that are kept are text."""
    opaque: bool
    """Whether llguidance reaches it by ``<[id]>`` alone, never through its text."""


@dataclass(frozen=True, eq=False)
class ModelTokenizer:
    """A tokenizer as everything here asks it; made by `tokenizer_of`, shared by all requests."""

    hf: Tokenizer
    """As it was given; it encodes text with its added tokens."""
    eos: Eos | None = None
    """What ends an answer, as it was named; None: what llguidance makes of the usual names."""
    width: int | None = None
    """The width of the model's logits, where it is known."""
    file: str | None = None
    """What it was read from."""

    @cached_property
    def opaque(self) -> OpaqueTokens:
        """The added tokens that are not text in a grammar."""
        return opaque_tokens(self.hf)

    @cached_property
    def text(self) -> TokenText:
        """Texts as its tokens with their places, and back."""
        return TokenText(self.hf)

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """The added tokens, in the order of their ids."""
        opaque = self.opaque.texts
        return tuple(
            AddedToken(number, token.content, token.special, number in opaque)
            for number, token in sorted(self.hf.get_added_tokens_decoder().items())
        )

    @cached_property
    def added_by_id(self) -> dict[int, AddedToken]:
        """The added tokens by their ids."""
        return {token.id: token for token in self.added}

    @cached_property
    def vocab_size(self) -> int:
        """Entries of a mask: the vocabulary's, or the model's where its logits are wider."""
        size = max(self.hf.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        if self.width is not None and self.width < size:
            raise TokenizerError(
                f"the vocabulary has {size} tokens, more than the {self.width} asked for",
                file=self.file,
                hint="give the width of the model's logits, or leave it out",
            )
        return self.width or size

    @property
    def mask_words(self) -> int:
        """How many int32 words a row of a mask has: 32 tokens a word, lowest bit first."""
        return (self.vocab_size + 31) // 32

    @property
    def eos_id(self) -> int:
        """The first of ``eos_ids``."""
        return self.eos_ids[0]

    @cached_property
    def eos_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer; a grammar that is done allows these alone."""
        if self.eos is None:
            # llguidance knows the usual names, and says 0 where it finds none of them.
            guess = self._in_llguidance(self.hf.to_str(), None).eos_token
            if guess not in self.added_by_id:
                raise TokenizerError(
                    "the tokenizer does not say which token ends an answer",
                    file=self.file,
                    hint="name it, by its text or its id",
                )
            return (guess,)
        named = [self.eos] if isinstance(self.eos, int | str) else self.eos
        if not named:
            raise TokenizerError("no token was named to end an answer with", file=self.file)
        return tuple(dict.fromkeys(map(self._end, named)))

    def _end(self, named: int | str) -> int:
        number = self.hf.token_to_id(named) if isinstance(named, str) else named
        if number is None or self.hf.id_to_token(number) is None:
            raise TokenizerError(
                f"there is no token {named!r} to end an answer with", file=self.file
            )
        return number

    @cached_property
    def ll(self) -> LLTokenizer:
        """llguidance's; it encodes text without the opaque tokens (see ``opaque.py``).

        The same one is loaded once in a process. Raises ``TokenizerError``.
        """
        text, width, ends = self.hf.to_str(), self.vocab_size, self.eos_ids
        key = hashlib.sha256(f"{ends} {width} {text}".encode()).hexdigest()
        with _lock:
            if key not in _loaded:
                made = self._in_llguidance(opaque_json(text, self.opaque.texts), list(ends))
                while len(_loaded) >= KEPT:
                    del _loaded[next(iter(_loaded))]
                _loaded[key] = made
            return _loaded[key]

    def ll_with(self, slices: Sequence[str]) -> LLTokenizer:
        """Return llguidance's with these slices of the vocabulary; none of them: its own.

        To sort a large vocabulary takes a second, so the same slices are sorted once.
        """
        if not slices:
            return self.ll
        known = self._sliced.get(tuple(slices))
        if known is None:
            known = self._sliced.setdefault(tuple(slices), self.ll.with_slices(list(slices)))
        return known

    @cached_property
    def _sliced(self) -> dict[tuple[str, ...], LLTokenizer]:
        return {}

    def _in_llguidance(self, text: str, ends: list[int] | None) -> LLTokenizer:
        from llguidance import LLTokenizer  # noqa: PLC0415 - only those who decode need it

        try:
            return LLTokenizer(text, n_vocab=self.width, eos_token=ends)
        except ValueError as error:
            raise TokenizerError(
                f"llguidance cannot take this tokenizer: {error}",
                file=self.file,
                hint="it takes those that decode to bytes: ByteLevel, or with ByteFallback",
            ) from error

    @cached_property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The exact bytes of every id; empty where the vocabulary has no such id."""
        known = set(self.hf.get_vocab(with_added_tokens=True).values())
        table = [
            self.ll.decode_bytes([token]) if token in known else b""
            for token in range(self.vocab_size)
        ]
        for token in self.added:
            table[token.id] = token.text.encode()
        return tuple(table)

    @cached_property
    def index(self) -> TokenIndex:
        """All its tokens by their bytes; made once, a fraction of a second for a large one."""
        return TokenIndex(self.token_bytes)

    def bytes_of(self, token: int) -> bytes:
        """Return the exact bytes of one token; they need not be whole characters.

        Raises ``TokenizerError`` for an id that is out of the vocabulary.
        """
        if not 0 <= token < self.vocab_size:
            raise TokenizerError(
                f"there is no token {token} in a vocabulary of {self.vocab_size}",
                file=self.file,
                hint="the tokenizer must be the one of the model",
            )
        return self.token_bytes[token]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of ``text``, added ones among them; nothing is put around it.

        Raises ``TokenizerError`` where it has none for it.
        """
        return self.text.ids(text)

    def encode_plain(self, text: bytes) -> list[int]:
        """Return tokens for ``text`` (any bytes) as a grammar takes them: no opaque one."""
        return self.ll.tokenize_bytes(text)

    def encode_marked(self, text: str) -> list[int]:
        """Return tokens for ``text`` in the middle of an answer: its opaque ones by their ids."""
        tokens: list[int] = []
        for piece in self.opaque.pieces(text):
            tokens += [piece] if isinstance(piece, int) else self.encode_plain(piece.encode())
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of ``tokens``, added ones kept; broken UTF-8 shows as U+FFFD."""
        return b"".join(self.bytes_of(token) for token in tokens).decode(errors="replace")
