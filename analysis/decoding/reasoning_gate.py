"""Delay a constraint until the reasoning ends.

    prompt -> reasoning, any token -> end marker -> constrained text

While the model thinks, every token is allowed. From the end of its thinking on, the constraint
holds, from its beginning: the marker that ends the thinking is not part of the constrained text,
but the text after it is, even in the same token. So a token that would end the thinking and go on
with text that the constraint refuses is not allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Self

from autoparser.analysis.sources.token_bytes import SearchMarker

from .constraints import ConstraintError
from .matcher_grammar import (
    GrammarObject,
    allow_all,
    allow_only,
    allow_token,
    clear_mask,
    row_of,
)


class ReasoningOpening(Enum):
    """How the prompt leaves the reasoning to the model."""

    OPEN = "open"
    """The prompt has opened it: the model begins in its thinking."""
    CLOSED = "closed"
    """The prompt has closed it, or there is none: the constraint holds at once."""
    ABSENT = "absent"
    """The prompt does neither: the model may open it with its first words, or not at all."""


class _Phase(Enum):
    UNDECIDED = auto()
    """The text so far may become the marker that opens the thinking, or an answer."""
    THINKING = auto()
    BOUND = auto()
    """The constraint decides."""
    ENDED = auto()
    """The answer ended within the thinking."""


@dataclass(frozen=True, slots=True)
class _State:
    phase: _Phase
    matched: int = 0
    """Matched bytes of the marker: of the opening one if undecided, else of the closing one."""
    fits: bool = True
    """While undecided: whether the constraint accepted the text so far."""
    pending: tuple[int, ...] = ()
    """While undecided: the tokens that the constraint accepted."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The change of one token, to undo it."""

    before: _State
    token_count: int = 0
    """Number of tokens that the constraint accepted for this one."""
    opened: bool = False
    """Whether it opened the thinking, so that pending tokens were dropped."""


class ReasoningGate(GrammarObject):
    """A grammar object that leaves the reasoning free; it wraps that of the text after it."""

    def __init__(
        self,
        grammar: GrammarObject,
        *,
        end: str,
        start: str = "",
        opening: ReasoningOpening = ReasoningOpening.OPEN,
        may_end: bool = True,
    ) -> None:
        """``end`` closes the thinking; ``start`` opens it if the prompt has not.

        ``may_end`` is whether an answer may end within the thinking.

        ``grammar`` is a fresh one, which the gate owns from here on. Pass the markers without the
        whitespace at their edges: a model may write that otherwise than the template does.
        Raises ``ConstraintError`` for an empty marker that would be needed.
        """
        if opening is not ReasoningOpening.CLOSED and not end:
            raise ConstraintError("the reasoning has no text that ends it", place="reasoning")
        if opening is ReasoningOpening.ABSENT and not start:
            raise ConstraintError("the reasoning has no text that opens it", place="reasoning")
        super().__init__(grammar.tokenizer)
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
    def is_thinking(self) -> bool:
        """Whether the model is certainly in its reasoning."""
        return self._state.phase is _Phase.THINKING

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write the mask of the tokens that may come next into row ``index`` of ``mask``."""
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
        """Accept a token, or return False and leave the state unchanged."""
        if not 0 <= token < self.tokenizer.vocab_size:
            return False
        step: _Step | None = None
        match self._state.phase:
            case _Phase.BOUND:
                accepted = self._grammar.try_accept(token)
                step = _Step(self._state, token_count=1) if accepted else None
            case _Phase.THINKING:
                step = self._thinking(token)
            case _Phase.UNDECIDED:
                step = self._undecided(token)
            case _Phase.ENDED:
                pass
        if step is None:
            return False
        self._steps.append(step)
        self.taken += 1
        return True

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` tokens, across the end of the thinking if need be."""
        super().rollback(count)
        for _ in range(count):
            step = self._steps.pop()
            self._grammar.rollback(step.token_count)
            if step.opened:
                self._take_again(step.before.pending)
            self._state = step.before

    def is_accepting(self) -> bool:
        """Return whether the answer may end here; the thinking itself is unconstrained."""
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
        """Return whether nothing but the end can follow, or it has come already."""
        if self._state.phase is _Phase.BOUND:
            return self._grammar.is_terminated()
        return self._state.phase is _Phase.ENDED

    def reset(self) -> None:
        """Return to the state before the first token."""
        self._grammar.reset()
        self._state, self._steps, self.taken = self._first, [], 0

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        other = super().clone()
        vars(other).update(_grammar=self._grammar.clone(), _steps=list(self._steps))
        return other

    def forced_tokens(self) -> list[int]:
        """Return the tokens that must come next; empty before the constraint holds."""
        return self._grammar.forced_tokens() if self._state.phase is _Phase.BOUND else []

    def _thinking(self, token: int, *, behind: bytes | None = None) -> _Step | None:
        """Accept a token of the thinking; ``behind`` is its rest if it opened the thinking."""
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
        return _Step(before, token_count=given)

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
                return _Step(before, token_count=int(fits))
        if not before.fits or not self._grammar.try_accept(token):
            return None
        self._state = _State(_Phase.BOUND)
        return _Step(before, token_count=1)

    def _opened(self, token: int, behind: bytes) -> _Step | None:
        """Begin the thinking; text accepted as the beginning of an answer was not one."""
        before = self._state
        self._grammar.rollback(len(before.pending))
        step = self._thinking(token, behind=behind)
        if step is None:
            self._take_again(before.pending)
            return None
        return _Step(before, step.token_count, opened=True)

    def _give(self, text: bytes) -> int | None:
        """Pass text after the end of the thinking to the constraint."""
        tokens = self.tokenizer.encode_plain(text) if text else []
        for count, token in enumerate(tokens):
            if not self._grammar.try_accept(token):
                self._grammar.rollback(count)
                return None
        return len(tokens)

    def _opening_tokens(self) -> list[int]:
        """Return the tokens that continue the opening marker, or complete it."""
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
        """Return whether the constraint accepts ``text`` from its beginning."""
        self._grammar.rollback(len(self._state.pending))
        given = self._give(text)
        self._grammar.rollback(given or 0)
        self._take_again(self._state.pending)
        return given is not None

    def _take_again(self, tokens: tuple[int, ...]) -> None:
        for token in tokens:
            self._grammar.accept_token(token)
