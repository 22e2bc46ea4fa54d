"""A model's tokenizer, as masks need it: ids to exact bytes, added tokens, ends of a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from llguidance import LLTokenizer
from tokenizers import Tokenizer

from autoparser.analysis.errors import TokenizerError

__all__ = ["AddedTokenText", "DecodingTokenizer"]


@dataclass(frozen=True, slots=True)
class AddedTokenText:
    """A token that stands beside the learnt vocabulary."""

    id: int
    text: str
    special: bool
    """Whether decoding drops it (a control token); those that are kept are text."""
    opaque: bool
    """Whether llguidance reaches it by ``<[id]>`` alone, never through its text."""


@dataclass(frozen=True, eq=False)
class DecodingTokenizer:
    """A tokenizer that is ready for masks; made by ``load_tokenizer``, shared by all requests."""

    hf: Tokenizer
    """As it was given; it encodes text with its added tokens."""
    ll: LLTokenizer
    """llguidance's; it encodes text without the opaque added tokens (see ``opaque.py``)."""
    vocab_size: int
    """Entries of a mask: the vocabulary's, or the model's where its logits are wider."""
    eos_ids: tuple[int, ...]
    """The tokens that end an answer; a grammar that is done allows these alone."""
    added: tuple[AddedTokenText, ...] = field(repr=False)
    """In the order of their ids."""

    @property
    def eos_id(self) -> int:
        """The first of ``eos_ids``."""
        return self.eos_ids[0]

    @property
    def mask_words(self) -> int:
        """How many int32 words a row of a mask has: 32 tokens a word, lowest bit first."""
        return (self.vocab_size + 31) // 32

    @cached_property
    def added_by_id(self) -> dict[int, AddedTokenText]:
        """The added tokens by their ids."""
        return {token.id: token for token in self.added}

    @cached_property
    def markers(self) -> dict[str, AddedTokenText]:
        """The opaque tokens, by their texts."""
        return {token.text: token for token in self.added if token.opaque and token.text}

    @cached_property
    def marker_pattern(self) -> re.Pattern[str]:
        """Finds ``markers``, leftmost-longest; its one group is the marker."""
        # The longest first, since an alternation takes the first that fits.
        longest_first = sorted(self.markers, key=len, reverse=True)
        # Without any marker, a pattern that matches nowhere.
        return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")

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

    def bytes_of(self, token: int) -> bytes:
        """Give the exact bytes of one token; they need not be whole characters.

        Raises ``TokenizerError`` for an id that is out of the vocabulary.
        """
        if not 0 <= token < self.vocab_size:
            raise TokenizerError(
                f"there is no token {token} in a vocabulary of {self.vocab_size}",
                hint="the tokenizer must be the one of the model",
            )
        return self.token_bytes[token]

    def encode(self, text: str) -> list[int]:
        """Give the tokens of ``text``, added ones among them; nothing is put around it."""
        return self.hf.encode(text, add_special_tokens=False).ids

    def encode_plain(self, text: bytes) -> list[int]:
        """Give tokens for ``text`` (any bytes) as a grammar takes them: no opaque one."""
        return self.ll.tokenize_bytes(text)

    def decode(self, tokens: Iterable[int]) -> str:
        """Give the text of ``tokens``, added ones kept; broken UTF-8 shows as U+FFFD."""
        return b"".join(self.bytes_of(token) for token in tokens).decode(errors="replace")
