"""The state of one request under a constraint: masks out, tokens in, and back again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from time import perf_counter
from typing import Any, Protocol

from llguidance import LLMatcher

from autoparser.analysis.loading.tokens import ModelTokenizer

from .bitmask import WORD_BYTES, MaskError, allow_only, row_of, row_words
from .constraint_errors import ConstraintError, RefusedTokenError
from .statistics import StatisticsCounter

__all__ = ["CountedTokens", "GrammarObject", "MatcherGrammar"]


class GrammarObject(Protocol):
    """What an engine holds for one request; not to be shared between threads."""

    @property
    def tokenizer(self) -> ModelTokenizer:
        """The tokenizer that the masks are for."""
        ...

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write into row ``index`` of ``mask`` which tokens may come next.

        ``mask`` is ``(rows, words)`` of int32 on the CPU: a numpy array, a torch tensor, or any
        buffer. Words after the vocabulary become 0.
        """
        ...

    def accept_token(self, token: int) -> None:
        """Take the next token; ``RefusedTokenError`` if it is not allowed, the state unchanged."""
        ...

    def try_accept(self, token: int) -> bool:
        """Take the next token, or leave the state as it is and say False."""
        ...

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens, an end of the answer among them."""
        ...

    def is_accepting(self) -> bool:
        """Say whether the answer may end here."""
        ...

    def is_terminated(self) -> bool:
        """Say whether nothing but the end can follow, or it has come already."""
        ...

    def reset(self) -> None:
        """Go back to the state before the first token."""
        ...

    def clone(self) -> GrammarObject:
        """Return a second object in the same state, which goes its own way."""
        ...

    def forced_tokens(self) -> list[int]:
        """Return tokens that have to come next whatever a model says; they are not taken yet."""
        ...


class CountedTokens(ABC):
    """What every grammar object knows of the tokens that it took."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._taken: int = 0
        self._ended: bool = False

    @property
    def tokenizer(self) -> ModelTokenizer:
        """The tokenizer that the masks are for."""
        return self._tokenizer

    @abstractmethod
    def try_accept(self, token: int) -> bool:
        """Take the next token, or leave the state as it is and say False."""

    def accept_token(self, token: int) -> None:
        """Take the next token; ``RefusedTokenError`` if it is not allowed, the state unchanged."""
        if not self.try_accept(token):
            raise refusal(self._tokenizer, token, self._taken)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens, an end of the answer among them."""
        check_rollback(count, self._taken)
        self._taken -= count
        self._take_back(count - (self._ended and count > 0))
        self._ended = self._ended and not count

    @abstractmethod
    def _take_back(self, count: int) -> None:
        """Take back tokens before the end of the answer."""


class MatcherGrammar(CountedTokens):
    """A grammar object on llguidance's matcher."""

    def __init__(
        self,
        matcher: LLMatcher,
        tokenizer: ModelTokenizer,
        statistics: StatisticsCounter | None = None,
    ) -> None:
        super().__init__(tokenizer)
        self._matcher = matcher
        self._statistics = statistics
        self._row_bytes = tokenizer.mask_words * WORD_BYTES

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write into row ``index`` of ``mask`` which tokens may come next."""
        row = row_of(mask, index)
        words = self._tokenizer.mask_words
        if row.words < words:
            raise MaskError(
                f"a row of {row.words} words is too short for {self._tokenizer.vocab_size} tokens",
                hint=f"it has to have {words} words",
            )
        if self._ended:
            allow_only(row, self._tokenizer.eos_ids)
            return
        started = perf_counter()
        self._matcher.unsafe_compute_mask_ptr(row.address, self._row_bytes)
        if self._statistics is not None:
            seconds = perf_counter() - started
            self._statistics.used(masks=1, mask_seconds=seconds, accepted=0, forced=0)
        if row.words > words:
            row_words(row)[words:] = [0] * (row.words - words)
        if self._matcher.is_error():
            raise ConstraintError(
                f"the grammar cannot go on: {one_message(self._matcher.get_error())}",
                hint="it is too large or too ambiguous for llguidance's limits",
            )

    def try_accept(self, token: int) -> bool:
        """Take the next token, or leave the state as it is and say False."""
        # An id out of the vocabulary would be an error that the matcher never leaves.
        if self._ended or not 0 <= token < self._tokenizer.vocab_size:
            return False
        # The matcher never sees the end: it would not always count it.
        if token in self._tokenizer.eos_ids and self._matcher.is_accepting():
            self._ended = True
        elif self._matcher.is_stopped() or self._matcher.try_consume_tokens([token]) != 1:
            return False
        self._taken += 1
        if self._statistics is not None:
            self._statistics.used(masks=0, mask_seconds=0.0, accepted=1, forced=0)
        return True

    def _take_back(self, count: int) -> None:
        if count and not self._matcher.rollback(count):
            raise ConstraintError(
                f"the grammar cannot go back: {one_message(self._matcher.get_error())}"
            )

    def is_accepting(self) -> bool:
        """Say whether the answer may end here."""
        return self._matcher.is_accepting()

    def is_terminated(self) -> bool:
        """Say whether nothing but the end can follow, or it has come already."""
        return self._ended or self._matcher.is_stopped()

    def reset(self) -> None:
        """Go back to the state before the first token."""
        self.rollback(self._taken)

    def clone(self) -> MatcherGrammar:
        """Return a second object in the same state, which goes its own way."""
        other = MatcherGrammar(self._matcher.deep_copy(), self._tokenizer, self._statistics)
        other._taken, other._ended = self._taken, self._ended
        return other

    def forced_tokens(self) -> list[int]:
        """Return tokens that have to come next whatever a model says; they are not taken yet."""
        forced = [] if self._ended else list(self._matcher.compute_ff_tokens())
        if forced and self._statistics is not None:
            self._statistics.used(masks=0, mask_seconds=0.0, accepted=0, forced=len(forced))
        return forced


def refusal(tokenizer: ModelTokenizer, token: int, taken: int) -> RefusedTokenError:
    """Say which token was refused, and where."""
    known = 0 <= token < tokenizer.vocab_size
    text = tokenizer.bytes_of(token).decode(errors="replace") if known else "not in the vocabulary"
    return RefusedTokenError(
        f"token {token} ({text!r}) is not allowed here",
        place=f"after {taken} tokens",
        hint="sample under the mask",
    )


def check_rollback(count: int, taken: int) -> None:
    """Refuse to go back after the first token."""
    if not 0 <= count <= taken:
        raise ConstraintError(f"cannot take back {count} tokens of {taken}")


def one_message(message: str) -> str:
    """Return llguidance's message, which may have several lines, in one."""
    return " ".join(message.split())
