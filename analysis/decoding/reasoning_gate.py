"""A constraint that waits for the end of the reasoning.

While the model thinks every token is allowed. From the end of its thinking on, the constraint
holds, from its beginning: the marker that ends the thinking is not part of the constrained text,
what stands after it is, even in the same token. A token that would end the thinking and go on with
text that the constraint refuses is therefore not allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from autoparser.analysis.sources.token_bytes import SearchMarker
from autoparser.analysis.sources.tokenizer import ModelTokenizer

from .constraints import ConstraintError
from .matcher_grammar import (
    GrammarObject,
    allow_all,
    allow_only,
    allow_token,
    check_rollback,
    clear_mask,
    row_of,
    token_refusal,
)


class ReasoningOpening(Enum):
    """How the prompt leaves the reasoning to the model."""

    OPEN = "open"
    """The prompt has opened it: the model begins in its thinking."""
    CLOSED = "closed"
    """The prompt has closed it, or there is none: the constraint holds at once."""
    ABSENT = "absent"
    """The prompt says nothing: the model may open it with its first words, or not at all."""


class _Phase(Enum):
    UNDECIDED = auto()
    """What was written may become the marker that opens the thinking, or an answer."""
    THINKING = auto()
    BOUND = auto()
    """The constraint decides."""
    ENDED = auto()
    """The answer ended within the thinking."""


@dataclass(frozen=True, slots=True)
class _State:
    phase: _Phase
    matched: int = 0
    """Bytes of the marker that stand: of the opening one if undecided, else of the closing one."""
    fits: bool = True
    """While undecided: whether the constraint took what was written so far."""
    pending: tuple[int, ...] = ()
    """While undecided: the tokens that the constraint took."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What one token changed, to take it back."""

    before: _State
    given: int = 0
    """Tokens that the constraint took for this one."""
    opened: bool = False
    """Whether it opened the thinking, and what was pending was dropped."""


class ReasoningGate:
    """A grammar object that leaves the reasoning free; it wraps the one that comes after."""

    def __init__(
        self,
        grammar: GrammarObject,
        *,
        end: str,
        start: str = "",
        opening: ReasoningOpening = ReasoningOpening.OPEN,
        may_end: bool = True,
    ) -> None:
        """``end`` closes the thinking; ``start`` opens it where the prompt has not.

        ``may_end`` says whether an answer may end within the thinking.

        ``grammar`` is a fresh one; from here on it is the gate's. Give the markers without the
        whitespace at their edges: a model may write that otherwise than the template does.
        Raises ``ConstraintError`` for an empty marker that would be needed.
        """
        if opening is not ReasoningOpening.CLOSED and not end:
            raise ConstraintError("the reasoning has no text that ends it", place="reasoning")
        if opening is ReasoningOpening.ABSENT and not start:
            raise ConstraintError("the reasoning has no text that opens it", place="reasoning")
        self._grammar = grammar
        self._start = SearchMarker(start.encode())
        self._end = SearchMarker(end.encode())
        self._may_end = may_end
        phase = {
            ReasoningOpening.OPEN: _Phase.THINKING,
            ReasoningOpening.CLOSED: _Phase.BOUND,
            ReasoningOpening.ABSENT: _Phase.UNDECIDED,
        }[opening]
        self._first = _State(phase)
        self._state = self._first
        self._steps: list[_Step] = []
        self._refused: dict[int, tuple[int, ...]] = {}
        """By the matched length: tokens that would end the thinking in a way that is refused."""
        if opening is not ReasoningOpening.CLOSED:
            # The tokens are sorted here, once for a tokenizer, and not in the first mask.
            self._refused_at(0)

    @property
    def tokenizer(self) -> ModelTokenizer:
        """The tokenizer that the masks are for."""
        return self._grammar.tokenizer

    @property
    def is_thinking(self) -> bool:
        """Whether the model is in its reasoning for certain."""
        return self._state.phase is _Phase.THINKING

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write into row ``index`` of ``mask`` which tokens may come next."""
        row = row_of(mask, index)
        match self._state.phase:
            case _Phase.BOUND:
                self._grammar.fill_vocab_mask(mask, index)
            case _Phase.THINKING:
                allow_all(row, self.tokenizer.vocab_size)
                for token in self._refused_at(self._state.matched):
                    allow_token(row, token, allowed=False)
                for token in () if self._may_end else self.tokenizer.eos_ids:
                    allow_token(row, token, allowed=False)
            case _Phase.UNDECIDED:
                if self._state.fits:
                    self._grammar.fill_vocab_mask(mask, index)
                else:
                    clear_mask(row)
                for token in self._opening_tokens():
                    allow_token(row, token, allowed=True)
            case _Phase.ENDED:
                allow_only(row, self.tokenizer.eos_ids)

    def try_accept(self, token: int) -> bool:
        """Take the next token, or leave the state as it is and say False."""
        if not 0 <= token < self.tokenizer.vocab_size:
            return False
        step: _Step | None = None
        match self._state.phase:
            case _Phase.BOUND:
                step = self._bound(token)
            case _Phase.THINKING:
                step = self._thinking(token)
            case _Phase.UNDECIDED:
                step = self._undecided(token)
            case _Phase.ENDED:
                pass
        if step is None:
            return False
        self._steps.append(step)
        return True

    def accept_token(self, token: int) -> None:
        """Take the next token; ``RefusedTokenError`` if it is not allowed, the state unchanged."""
        if not self.try_accept(token):
            raise token_refusal(self.tokenizer, token, len(self._steps))

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens, across the border of the thinking if need be."""
        check_rollback(count, len(self._steps))
        for _ in range(count):
            step = self._steps.pop()
            self._grammar.rollback(step.given)
            if step.opened:
                self._take_again(step.before.pending)
            self._state = step.before

    def is_accepting(self) -> bool:
        """Say whether the answer may end here; in the thinking nothing is bound."""
        match self._state.phase:
            case _Phase.BOUND:
                return self._grammar.is_accepting()
            case _Phase.UNDECIDED:
                return self._state.fits and self._grammar.is_accepting()
            case _Phase.THINKING:
                return self._may_end
            case _Phase.ENDED:
                return True

    def is_terminated(self) -> bool:
        """Say whether nothing but the end can follow, or it has come already."""
        if self._state.phase is _Phase.BOUND:
            return self._grammar.is_terminated()
        return self._state.phase is _Phase.ENDED

    def reset(self) -> None:
        """Go back to the state before the first token."""
        self._grammar.reset()
        self._state, self._steps = self._first, []

    def clone(self) -> ReasoningGate:
        """Return a second object in the same state, which goes its own way."""
        other = object.__new__(ReasoningGate)
        other.__dict__ |= self.__dict__
        other._grammar = self._grammar.clone()
        other._steps = list(self._steps)
        return other

    def forced_tokens(self) -> list[int]:
        """Return tokens that have to come next whatever a model says; none before it is bound."""
        return self._grammar.forced_tokens() if self._state.phase is _Phase.BOUND else []

    def _bound(self, token: int) -> _Step | None:
        if not self._grammar.try_accept(token):
            return None
        return _Step(self._state, given=1)

    def _thinking(self, token: int, *, behind: bytes | None = None) -> _Step | None:
        """Take a token of the thinking; ``after`` is its text where it has opened that itself."""
        before = self._state
        if token in self.tokenizer.eos_ids:
            if not self._may_end:
                return None
            self._state = _State(_Phase.ENDED)
            return _Step(before)
        text = self.tokenizer.bytes_of(token) if behind is None else behind
        matched, rest = self._end.read(before.matched if behind is None else 0, text)
        if rest is None:
            self._state = _State(_Phase.THINKING, matched)
            return _Step(before)
        given = self._give(rest)
        if given is None:
            return None
        self._state = _State(_Phase.BOUND)
        return _Step(before, given=given)

    def _undecided(self, token: int) -> _Step | None:
        before = self._state
        text = self._start.text[: before.matched] + self.tokenizer.bytes_of(token)
        if token not in self.tokenizer.eos_ids:
            if text.startswith(self._start.text):
                return self._opened(token, text[len(self._start.text) :])
            if self._start.text.startswith(text):
                fits = before.fits and self._grammar.try_accept(token)
                pending = (*before.pending, token) if fits else before.pending
                self._state = _State(_Phase.UNDECIDED, len(text), fits, pending)
                return _Step(before, given=int(fits))
        if not before.fits or not self._grammar.try_accept(token):
            return None
        self._state = _State(_Phase.BOUND)
        return _Step(before, given=1)

    def _opened(self, token: int, behind: bytes) -> _Step | None:
        """Begin the thinking; what was taken as a beginning of the answer was none."""
        before = self._state
        self._grammar.rollback(len(before.pending))
        step = self._thinking(token, behind=behind)
        if step is None:
            self._take_again(before.pending)
            return None
        return _Step(before, step.given, opened=True)

    def _give(self, text: bytes) -> int | None:
        """Let the constraint take text that stands after the end of the thinking."""
        tokens = self.tokenizer.encode_plain(text) if text else []
        for done, token in enumerate(tokens):
            if not self._grammar.try_accept(token):
                self._grammar.rollback(done)
                return None
        return len(tokens)

    def _opening_tokens(self) -> list[int]:
        """Return the tokens that go on with the opening marker, or end it."""
        index = self.tokenizer.index
        left = self._start.text[self._state.matched :]
        found = [token for size in range(1, len(left)) for token in index.equal_to(left[:size])]
        for token, text in index.beginning_with(left):
            rest = self._end.read(0, text[len(left) :])[1]
            if not rest or self._would_take(rest):
                found.append(token)
        return found

    def _refused_at(self, matched: int) -> tuple[int, ...]:
        """Return the tokens that end the thinking and go on in a way that is refused."""
        if matched not in self._refused:
            index = self.tokenizer.index
            self._refused[matched] = tuple(
                token
                for token, rest in self._end.overshooting(matched, index)
                if not self._would_take(rest)
            )
        return self._refused[matched]

    def _would_take(self, text: bytes) -> bool:
        """Say whether the constraint takes ``text`` first of all."""
        self._grammar.rollback(len(self._state.pending))
        given = self._give(text)
        self._grammar.rollback(given or 0)
        self._take_again(self._state.pending)
        return given is not None

    def _take_again(self, tokens: tuple[int, ...]) -> None:
        for token in tokens:
            self._grammar.accept_token(token)
