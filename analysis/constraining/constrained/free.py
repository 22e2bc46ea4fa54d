"""A grammar object that allows everything: a request without a constraint, among those with one."""

from __future__ import annotations

from typing import Any

from .bitmask import allow_all, allow_only, row_of
from .matcher_grammar import CountedTokens

__all__ = ["FreeGrammar"]


class FreeGrammar(CountedTokens):
    """Any tokens, until one ends the answer."""

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Allow every token of the vocabulary; after the end, the ends alone."""
        row = row_of(mask, index)
        if self._ended:
            allow_only(row, self._tokenizer.eos_ids)
        else:
            allow_all(row, self._tokenizer.vocab_size)

    def try_accept(self, token: int) -> bool:
        """Take the next token unless the answer has ended."""
        if self._ended or not 0 <= token < self._tokenizer.vocab_size:
            return False
        self._taken += 1
        self._ended = token in self._tokenizer.eos_ids
        return True

    def _take_back(self, count: int) -> None:
        """Do nothing: no token has left anything."""

    def is_accepting(self) -> bool:
        """Say that the answer may end here, as it may anywhere."""
        return True

    def is_terminated(self) -> bool:
        """Say whether the end has come."""
        return self._ended

    def reset(self) -> None:
        """Go back to the state before the first token."""
        self._taken, self._ended = 0, False

    def clone(self) -> FreeGrammar:
        """Return a second object in the same state."""
        other = FreeGrammar(self._tokenizer)
        other._taken, other._ended = self._taken, self._ended
        return other

    def forced_tokens(self) -> list[int]:
        """Return nothing: no token has to come."""
        return []
