"""A sampler that needs no model: tokens at random, to an end.

Uniform over the mask alone would never end: of a hundred thousand tokens that may stand in a
string, one closes it. So at each step, first of all that is allowed:

1. a text that was begun to close something is written on;
2. where the answer may end, it does with probability ``ending``;
3. with probability ``closing``, and more likely the longer the answer is, a text is written that
   closes something (``closers``: by default what closes JSON's values; give a format's own, such as
   the ends of its arguments);
4. else any allowed token, each as likely as the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from autoparser.analysis.loading.tokens import ModelTokenizer

from .bitmask import MaskRow, allowed_tokens, is_allowed
from .walk import WaitingAnswer

__all__ = ["JSON_CLOSERS", "RandomSampler"]

JSON_CLOSERS = ('"', "]", "}")

PATIENCE = 2000
"""Divides an answer's tokens into how likely it closes what can be closed."""
MOST = 0.6
"""No more likely than this: what closes may be no text that a sampler was told of."""
TRIES = 16
"""Draws from the whole vocabulary before the allowed tokens are listed."""


class RandomSampler:
    """Draws tokens from the mask, the same ones for the same seed."""

    def __init__(
        self,
        tokenizer: ModelTokenizer,
        seed: int,
        *,
        ending: float = 0.2,
        closing: float = 0.2,
        closers: Sequence[str] = JSON_CLOSERS,
    ) -> None:
        """``closers`` are texts; a tag that is an added token is written as that token."""
        self._tokenizer = tokenizer
        self._random = Random(seed)
        self._ending = ending
        self._closing = closing
        self._closers = [tokenizer.encode_marked(closer) for closer in closers if closer]
        self._begun: dict[int, list[int]] = {}

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:  # noqa: ARG002 - the protocol's
        """Choose the next token of each answer."""
        return [self._choose(turn) for turn in turns]

    def _choose(self, turn: WaitingAnswer) -> int:
        begun = self._begun.pop(turn.place, [])
        if begun and turn.tokens and is_allowed(turn.row, begun[0]):
            return self._go_on(turn, begun)
        ends = [token for token in self._tokenizer.eos_ids if is_allowed(turn.row, token)]
        if ends and self._random.random() < self._ending:
            return self._random.choice(ends)
        closing = max(self._closing, min(MOST, len(turn.tokens) / PATIENCE))
        if self._random.random() < closing:
            possible = [closer for closer in self._closers if is_allowed(turn.row, closer[0])]
            if possible:
                return self._go_on(turn, self._random.choice(possible))
        return self._any(turn.row)

    def _go_on(self, turn: WaitingAnswer, text: list[int]) -> int:
        if text[1:]:
            self._begun[turn.place] = text[1:]
        return text[0]

    def _any(self, row: MaskRow) -> int:
        for _ in range(TRIES):
            token = self._random.randrange(self._tokenizer.vocab_size)
            if is_allowed(row, token):
                return token
        return self._random.choice(list(allowed_tokens(row)))
