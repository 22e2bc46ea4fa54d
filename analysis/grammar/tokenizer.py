"""A tokenizer as the writer of Lark needs it: its special tokens, and llguidance's view of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from tokenizers import Tokenizer


_MOST = 8192
"""Texts whose pieces a vocabulary remembers; names of tools are among them, ever new ones."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a tokenizer that are no text in a grammar."""

    added: Mapping[str, int] = field(default_factory=dict[str, int])
    """Id by text."""
    _known: dict[str, Sequence[str | int]] = field(
        default_factory=dict[str, "Sequence[str | int]"], repr=False, compare=False
    )

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        longest = sorted(filter(None, self.added), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest))) if longest else None

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Text by id."""
        return {number: text for text, number in self.added.items()}

    def pieces(self, text: str) -> Sequence[str | int]:
        """Cut a text as the tokenizer does: its special tokens as ids, the rest as text."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[text] = self._cut(text)
        return known

    def _cut(self, text: str) -> Sequence[str | int]:
        pieces: list[str | int] = []
        at = 0
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            if match.start() > at:
                pieces.append(text[at : match.start()])
            pieces.append(self.added[match.group()])
            at = match.end()
        if at < len(text):
            pieces.append(text[at:])
        return pieces


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """List the tokens that quoted text never matches in llguidance.

    These are the added tokens that are marked as special and those in angle brackets, marked or
    not (llguidance 1.9.1; a test compares). To it, other added tokens are text like any other.
    """
    # A tokenizer grows when tokens are added to it; it never changes otherwise.
    return _vocabulary(tokenizer, tokenizer.get_vocab_size())


@lru_cache(maxsize=16)
def _vocabulary(tokenizer: Tokenizer, size: int) -> Vocabulary:
    del size
    added = tokenizer.get_added_tokens_decoder()
    return Vocabulary(
        {
            token.content: number
            for number, token in added.items()
            if token.special or (token.content.startswith("<") and token.content.endswith(">"))
        }
    )


def guidance_tokenizer(tokenizer: Tokenizer, eos: int | Sequence[int] | None = None) -> LLTokenizer:
    """Load a tokenizer into llguidance; this takes about a second for a large one, so keep it.

    `eos` are the ids of the tokens that end an output.
    """
    from llguidance import LLTokenizer  # noqa: PLC0415 - only those who decode need it

    ends = list(eos) if isinstance(eos, Sequence) else eos
    return LLTokenizer(tokenizer.to_str(), eos_token=ends)
