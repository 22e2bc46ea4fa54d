"""Keep the state of one request under a constraint: fill masks, accept tokens, roll back.

`GrammarObject` is what an engine uses: `FreeGrammar` allows everything, `MatcherGrammar` what
llguidance's matcher does. Masks are rows of bits in any memory (`MaskRow`), and
`StatisticsCounter` counts for all requests of a backend.

`ReasoningGate` delays a constraint until the reasoning ends:

    prompt -> reasoning, any token -> end marker -> constrained text

While the model thinks, every token is allowed. From the end of its thinking on, the constraint
holds, from its beginning: the marker that ends the thinking is not part of the constrained text,
but the text after it is, even in the same token. So a token that would end the thinking and go on
with text that the constraint refuses is not allowed.

For example, a gate with the end `</t>` in front of the regex `yes|no`, with a token for each byte:

    after "hm"       every token is allowed
    after "hm</t>"   "y" and "n"
    after "hm</t>y"  "e"
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, Self

from llguidance import LLMatcher

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.token_bytes import SearchMarker
from autoparser.analysis.sources.tokenizer import ModelTokenizer

from .constraints import ConstraintError, ConstraintKind, RefusedTokenError

# Statistics of a backend: compilations, cache hits, masks, forced tokens.


@dataclass(frozen=True, slots=True)
class GrammarStatistics:
    """The figures at one moment."""

    hits: int = 0
    """Requests whose grammar was compiled, or was being compiled, already, e.g. 7."""
    misses: int = 0
    """Requests that had to start a compilation, e.g. 4."""
    failures: int = 0
    """Compilations that ended in an error, e.g. 1."""
    compile_seconds: float = 0.0
    """Time spent compiling, failures included, e.g. 0.0276."""
    masks: int = 0
    """Masks that were filled by a grammar, e.g. 112."""
    mask_seconds: float = 0.0
    """Time spent filling them, e.g. 0.0005."""
    accepted: int = 0
    """Tokens that were accepted by a grammar, e.g. 112."""
    forced: int = 0
    """Tokens that ``forced_tokens`` returned, without a model."""
    dispatched: Mapping[ConstraintKind, int] = field(default_factory=dict[ConstraintKind, int])
    """Compilations by the kind of the constraint, e.g. `{ConstraintKind.REGEX: 4}`."""


class StatisticsCounter:
    """Counts for all requests of a backend, in any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._dispatched: Counter[ConstraintKind] = Counter()

    def count(self, kind: ConstraintKind | None = None, **amounts: Any) -> None:
        """Add to figures by their names; `kind` is the compiled constraint's."""
        with self._lock:
            # Masks are filled in several threads, and `+=` on a counter is not atomic.
            self._counts.update(amounts)
            self._dispatched.update([] if kind is None else [kind])

    def now(self) -> GrammarStatistics:
        """Return the current figures."""
        with self._lock:
            counts: dict[str, Any] = dict(self._counts)
            return GrammarStatistics(**counts, dispatched=dict(self._dispatched))


# Rows of token masks in any memory: numpy arrays, torch tensors, plain buffers.
#
# A mask is rows of int32 words, a bit a token, lowest bit first, 1 for a token that is allowed:
# the layout of llguidance, xgrammar and the engines that use them.


WORD_BYTES = 4


class MaskError(AutoparserError):
    """A mask's memory does not fit: its type, its shape, its place."""


class MaskRow(NamedTuple):
    """One row of a mask."""

    owner: object
    """The memory, which it keeps alive, e.g. 36 bytes for 9 words."""
    address: int
    """The address of its first word in memory, e.g. 140641237119696."""
    words: int
    """The number of its words of 32 bits, e.g. 4748 for 151,936 tokens."""


def new_mask(rows: int, words: int) -> memoryview:
    """Return memory for ``rows`` rows of ``words`` int32 words, all zero, as a 2-D buffer."""
    flat = memoryview(array("i", bytes(rows * words * WORD_BYTES)))
    # A memoryview takes a shape only when it is cast from bytes.
    return flat.cast("B").cast("i", (rows, words))


def mask_row(mask: Any, index: int) -> MaskRow:
    """Return row ``index`` of a mask: ``(rows, words)`` int32, C-contiguous, on the CPU.

    Raises ``MaskError``.
    """
    # A torch tensor; torch itself is not imported here.
    if hasattr(mask, "data_ptr"):
        if mask.device.type != "cpu":
            raise MaskError(
                f"a mask is filled on the CPU, this one is on {mask.device}",
                hint="fill it there, then move it",
            )
        mask = mask.numpy()
    try:
        view = memoryview(mask)
    except TypeError as error:
        raise MaskError(f"a {type(mask).__name__} cannot be used as a mask") from error
    # On Windows, the int32 of numpy has the format `l`.
    if view.ndim != 2 or view.format not in {"i", "l"} or view.itemsize != WORD_BYTES:  # noqa: PLR2004
        raise MaskError("a mask must be two-dimensional and of int32")
    if not view.c_contiguous or view.readonly:
        raise MaskError("a mask must be contiguous and writable")
    rows, words = view.shape or (0, 0)
    if not 0 <= index < rows:
        raise MaskError(f"row {index} is out of range for a mask of {rows} rows")
    # It also keeps the memory from being freed or resized while the row is in use.
    whole = (ctypes.c_char * view.nbytes).from_buffer(view)
    return MaskRow(whole, ctypes.addressof(whole) + index * words * WORD_BYTES, words)


def row_words(row: MaskRow) -> ctypes.Array[ctypes.c_uint32]:
    """Return the words of a row, to read and to write."""
    return (ctypes.c_uint32 * row.words).from_address(row.address)


def is_allowed(row: MaskRow, token: int) -> bool:
    """Return whether the row allows ``token``."""
    word = ctypes.c_uint32.from_address(row.address + token // 32 * WORD_BYTES).value
    return bool(word >> token % 32 & 1)


def allow_token(row: MaskRow, token: int, allowed: bool) -> None:
    """Set the bit of ``token``."""
    word = ctypes.c_uint32.from_address(row.address + token // 32 * WORD_BYTES)
    bit = 1 << token % 32
    word.value = word.value | bit if allowed else word.value & ~bit


def allow_all(row: MaskRow, tokens: int) -> None:
    """Allow the first ``tokens`` tokens, and none after them."""
    clear_mask(row)
    # Whole bytes at once; a vocabulary need not be a multiple of 8.
    ctypes.memset(row.address, 0xFF, tokens // 8)
    for token in range(tokens // 8 * 8, tokens):
        allow_token(row, token, allowed=True)


def allow_only(row: MaskRow, tokens: Iterable[int]) -> None:
    """Allow ``tokens`` and no others."""
    clear_mask(row)
    for token in tokens:
        allow_token(row, token, allowed=True)


def clear_mask(row: MaskRow) -> None:
    """Allow no token."""
    ctypes.memset(row.address, 0, row.words * WORD_BYTES)


def count_allowed(row: MaskRow) -> int:
    """Return how many tokens the row allows."""
    words = ctypes.string_at(row.address, row.words * WORD_BYTES)
    return int.from_bytes(words, "little").bit_count()


def allowed_tokens(row: MaskRow) -> Iterator[int]:
    """Return the tokens that the row allows, in the order of their ids."""
    for place, word in enumerate(row_words(row)):
        left = word
        while left:
            lowest = left & -left
            yield place * 32 + lowest.bit_length() - 1
            left ^= lowest


class GrammarObject(ABC):
    """The constraint state of one request; not to be shared between threads."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer
        """The tokenizer that the masks are for."""
        self.taken: int = 0
        """The number of tokens that were accepted."""

    def __repr__(self) -> str:
        """Return the number of accepted tokens, and whether the answer has ended, in one line."""
        ended = ", ended" if self.is_terminated() else ""
        return f"<{type(self).__name__}: {self.taken} tokens accepted{ended}>"

    @abstractmethod
    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write the mask of the tokens that may come next into row ``index`` of ``mask``.

        ``mask`` is ``(rows, words)`` of int32 on the CPU: a numpy array, a torch tensor, or any
        buffer. Words after the vocabulary become 0.
        """

    def accept_token(self, token: int) -> None:
        """Accept a token; ``RefusedTokenError`` if it is not allowed, the state unchanged."""
        if not self.try_accept(token):
            raise _token_refusal(self.tokenizer, token, self.taken)

    @abstractmethod
    def try_accept(self, token: int) -> bool:
        """Accept a token, or return False and leave the state unchanged."""

    @abstractmethod
    def rollback(self, count: int) -> None:
        """Undo the last ``count`` tokens, an end of the answer among them."""
        if not 0 <= count <= self.taken:
            raise ConstraintError(f"cannot roll back {count} tokens of {self.taken}")
        self.taken -= count

    @abstractmethod
    def is_accepting(self) -> bool:
        """Return whether the answer may end here."""

    @abstractmethod
    def is_terminated(self) -> bool:
        """Return whether nothing but the end can follow, or it has come already."""

    def reset(self) -> None:
        """Return to the state before the first token."""
        self.rollback(self.taken)

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        return copy(self)

    @abstractmethod
    def forced_tokens(self) -> list[int]:
        """Return the tokens that must come next for any model; they are not accepted yet."""


class FreeGrammar(GrammarObject):
    """Allows any tokens, until one ends the answer: for requests without a constraint."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        super().__init__(tokenizer)
        self._ended = False

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Allow every token of the vocabulary; after the end, only end tokens."""
        row = mask_row(mask, index)
        if self._ended:
            allow_only(row, self.tokenizer.eos_ids)
        else:
            allow_all(row, self.tokenizer.vocab_size)

    def try_accept(self, token: int) -> bool:
        """Accept a token unless the answer has ended."""
        if self._ended or not 0 <= token < self.tokenizer.vocab_size:
            return False
        self.taken += 1
        self._ended = token in self.tokenizer.eos_ids
        return True

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` tokens, an end of the answer among them."""
        super().rollback(count)
        # The end is the last token, so any rollback undoes it.
        self._ended = self._ended and not count

    def is_accepting(self) -> bool:
        """Return True: the answer may end anywhere."""
        return True

    def is_terminated(self) -> bool:
        """Return whether the end has come."""
        return self._ended

    def forced_tokens(self) -> list[int]:
        """Return an empty list: no token is forced."""
        return []


class MatcherGrammar(FreeGrammar):
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

    def fill_vocab_mask(self, mask: Any, index: int = 0) -> None:
        """Write the mask of the tokens that may come next into row ``index`` of ``mask``."""
        row = mask_row(mask, index)
        words = self.tokenizer.mask_words
        if row.words < words:
            raise MaskError(
                f"a row of {row.words} words is too short for {self.tokenizer.vocab_size} tokens",
                hint=f"it needs {words} words",
            )
        if self._ended:
            allow_only(row, self.tokenizer.eos_ids)
            return
        started = perf_counter()
        self._matcher.unsafe_compute_mask_ptr(row.address, words * WORD_BYTES)
        if self._statistics is not None:
            self._statistics.count(masks=1, mask_seconds=perf_counter() - started)
        # A mask may be wider than the vocabulary; the rest must allow nothing.
        if row.words > words:
            row_words(row)[words:] = [0] * (row.words - words)
        if self._matcher.is_error():
            raise ConstraintError(
                f"the grammar cannot advance: {one_message(self._matcher.get_error())}",
                hint="it is too large or too ambiguous for llguidance's limits",
            )

    def try_accept(self, token: int) -> bool:
        """Accept a token, or return False and leave the state unchanged."""
        # An id outside the vocabulary would put the matcher into a permanent error.
        if self._ended or not 0 <= token < self.tokenizer.vocab_size:
            return False
        # The matcher never sees the end token, since it would not always count it.
        if token in self.tokenizer.eos_ids and self._matcher.is_accepting():
            self._ended = True
        elif self._matcher.is_stopped() or self._matcher.try_consume_tokens([token]) != 1:
            return False
        self.taken += 1
        if self._statistics is not None:
            self._statistics.count(accepted=1)
        return True

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` tokens; the matcher has not seen an end of the answer."""
        seen = count - (self._ended and count > 0)
        super().rollback(count)
        if seen and not self._matcher.rollback(seen):
            raise ConstraintError(
                f"the grammar cannot roll back: {one_message(self._matcher.get_error())}"
            )

    def is_accepting(self) -> bool:
        """Return whether the answer may end here."""
        return self._matcher.is_accepting()

    def is_terminated(self) -> bool:
        """Return whether nothing but the end can follow, or it has come already."""
        return self._ended or self._matcher.is_stopped()

    def clone(self) -> Self:
        """Return an independent copy in the same state."""
        other = super().clone()
        vars(other).update(_matcher=self._matcher.deep_copy())
        return other

    def forced_tokens(self) -> list[int]:
        """Return the tokens that must come next for any model; they are not accepted yet."""
        forced = [] if self._ended else list(self._matcher.compute_ff_tokens())
        if forced and self._statistics is not None:
            self._statistics.count(forced=len(forced))
        return forced


def _token_refusal(tokenizer: ModelTokenizer, token: int, token_count: int) -> RefusedTokenError:
    """Return the error that names the refused token, and its position."""
    known = 0 <= token < tokenizer.vocab_size
    text = tokenizer.bytes_of(token).decode(errors="replace") if known else "not in the vocabulary"
    return RefusedTokenError(
        f"token {token} ({text!r}) is not allowed here",
        place=f"after {token_count} tokens",
        hint="sample under the mask",
    )


def one_message(message: str) -> str:
    """Return llguidance's message, which may have several lines, in one."""
    return " ".join(message.split())


class ReasoningOpening(Enum):
    """How the prompt leaves the reasoning to the model."""

    OPEN = "open"
    """The prompt has opened it: the model begins in its thinking."""
    CLOSED = "closed"
    """The prompt has closed it, or the format has none: the constraint holds at once."""
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
    """The current phase, e.g. `_Phase.THINKING`."""
    matched: int = 0
    """Matched bytes of the marker, e.g. 2 of `<think>`: of the opening one if undecided, else of
    the closing one."""
    fits: bool = True
    """While undecided: whether the constraint accepted the text so far, e.g. `<` for a constraint
    of tags."""
    pending: tuple[int, ...] = ()
    """While undecided: the tokens that the constraint accepted, e.g. `(27, 83)`."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The change of one token, to undo it."""

    before: _State
    """The state to return to, e.g. `_State(_Phase.THINKING)`."""
    token_count: int = 0
    """Number of tokens that the constraint accepted for this one, 0 or more."""
    opened: bool = False
    """Whether it opened the thinking, e.g. as the last token of `<think>`, so that pending tokens
    were dropped."""


class ReasoningGate(GrammarObject):
    """A grammar object that leaves the reasoning free, and wraps the one for the text after it."""

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
            raise ConstraintError("the format has no end marker for reasoning", place="reasoning")
        if opening is ReasoningOpening.ABSENT and not start:
            raise ConstraintError("the format has no start marker for reasoning", place="reasoning")
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
        row = mask_row(mask, index)
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
                    # The text so far begins no answer, so only the marker can go on from it.
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
                step = self._accept_thinking(token)
            case _Phase.UNDECIDED:
                step = self._accept_undecided(token)
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
            # When the thinking began, the tokens of a possible answer were taken back.
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
        # `_refused` stays shared: it depends on the constraint and the marker alone.
        vars(other).update(_grammar=self._grammar.clone(), _steps=list(self._steps))
        return other

    def forced_tokens(self) -> list[int]:
        """Return the tokens that must come next; empty before the constraint holds."""
        return self._grammar.forced_tokens() if self._state.phase is _Phase.BOUND else []

    def _accept_thinking(self, token: int, *, behind: bytes | None = None) -> _Step | None:
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

    def _accept_undecided(self, token: int) -> _Step | None:
        before = self._state
        text = self._start.text[: before.matched] + self.tokenizer.bytes_of(token)
        if token not in self.tokenizer.eos_ids:
            if text.startswith(self._start.text):
                return self._open_thinking(token, text[len(self._start.text) :])
            if self._start.text.startswith(text):
                # This may begin the marker or an answer, so the constraint accepts it, too.
                fits = before.fits and self._grammar.try_accept(token)
                pending = (*before.pending, token) if fits else before.pending
                self._state = _State(_Phase.UNDECIDED, len(text), fits, pending)
                return _Step(before, token_count=int(fits))
        if not before.fits or not self._grammar.try_accept(token):
            return None
        self._state = _State(_Phase.BOUND)
        return _Step(before, token_count=1)

    def _open_thinking(self, token: int, behind: bytes) -> _Step | None:
        """Begin the thinking; text accepted as the beginning of an answer was not one."""
        before = self._state
        self._grammar.rollback(len(before.pending))
        step = self._accept_thinking(token, behind=behind)
        if step is None:
            self._take_again(before.pending)
            return None
        return _Step(before, step.token_count, opened=True)

    def _give(self, text: bytes) -> int | None:
        """Pass text after the end of the thinking to the constraint."""
        # The token that ended the thinking is not the constraint's, so encode its rest again.
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
            # A token may open the thinking, end it, and go on with constrained text.
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
        # This would be the beginning of the constrained text, so pending tokens are set aside.
        self._grammar.rollback(len(self._state.pending))
        given = self._give(text)
        self._grammar.rollback(given or 0)
        self._take_again(self._state.pending)
        return given is not None

    def _take_again(self, tokens: tuple[int, ...]) -> None:
        for token in tokens:
            self._grammar.accept_token(token)
