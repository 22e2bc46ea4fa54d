"""Masked sampling: a grammar object says what may come, a sampler says what does.

The loop is the one of an engine: masks are filled for all answers that still run, the sampler
chooses a token for each, each grammar takes its token; an answer ends with a token that ends it,
or at the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from autoparser.analysis.loading.tokens import ModelTokenizer

from .bitmask import MaskRow, count_allowed, new_mask, row_of
from .constraint_errors import ConstraintError
from .matcher_grammar import GrammarObject

__all__ = ["Sampler", "WaitingAnswer", "Walk", "walk", "walks"]


@dataclass(frozen=True, slots=True)
class Walk:
    """One answer, written under a mask."""

    tokens: tuple[int, ...]
    """Without the token that ends the answer."""
    text: str
    ended: bool
    """Whether it ended where the grammar allows it; False: the limit cut it."""
    forced: int
    """Tokens that were the only ones allowed, the end among them."""


@dataclass(frozen=True, slots=True)
class WaitingAnswer:
    """An answer that waits for its next token."""

    place: int
    """Which of the answers it is."""
    tokens: Sequence[int]
    """What it has written so far."""
    row: MaskRow
    """Its row of the mask."""


class Sampler(Protocol):
    """What chooses tokens: at random, or by a model."""

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        """Choose the next token of each answer that still runs, among those its row allows.

        ``mask`` is all rows, ``(answers, words)`` of int32; each turn's ``row`` is one of them.
        """
        ...


def walk(grammar: GrammarObject, tokenizer: ModelTokenizer, sampler: Sampler, limit: int) -> Walk:
    """Write one answer of at most ``limit`` tokens; see ``walks``."""
    return walks([grammar], tokenizer, sampler, limit)[0]


def walks(
    grammars: Sequence[GrammarObject],
    tokenizer: ModelTokenizer,
    sampler: Sampler,
    limit: int,
) -> list[Walk]:
    """Write an answer for each of ``grammars`` (fresh objects, changed here), side by side.

    Raises ``ConstraintError`` where a grammar allows no token at all, and ``RefusedTokenError``
    where it refuses one that its mask allowed: both are faults of the grammar.
    """
    if not grammars:
        return []
    mask = new_mask(len(grammars), tokenizer.mask_words)
    rows = [row_of(mask, place) for place in range(len(grammars))]
    written: list[list[int]] = [[] for _ in grammars]
    forced = [0] * len(grammars)
    ended: set[int] = set()
    for _ in range(limit + 1):
        running = [
            place
            for place in range(len(grammars))
            if place not in ended and len(written[place]) <= limit
        ]
        if not running:
            break
        for place in running:
            grammars[place].fill_vocab_mask(mask, place)
            forced[place] += _only_one(rows[place], written[place])
        turns = [WaitingAnswer(place, written[place], rows[place]) for place in running]
        for place, token in zip(running, sampler.choose(turns, mask), strict=True):
            grammars[place].accept_token(token)
            if token in tokenizer.eos_ids:
                ended.add(place)
            else:
                written[place].append(token)
    return [
        Walk(
            tuple(tokens[:limit]),
            tokenizer.decode(tokens[:limit]),
            place in ended,
            forced[place],
        )
        for place, tokens in enumerate(written)
    ]


def _only_one(row: MaskRow, written: Sequence[int]) -> bool:
    """Say whether the row allows one token alone; it has to allow one at least."""
    count = count_allowed(row)
    if not count:
        raise ConstraintError(
            "the grammar allows no token at all", place=f"after {len(written)} tokens"
        )
    return count == 1
