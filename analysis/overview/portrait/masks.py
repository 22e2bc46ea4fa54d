"""What a mask costs: the time of each, over answers that are written under the grammar.

The figures are of the machine at hand; nothing else in a portrait is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from time import perf_counter

from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.constraining.constrained import new_mask
from autoparser.analysis.constraining.decode import DecodingTrial
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError

WALKS = 6
MOST_TOKENS = 256
"""Of one answer."""
SEED = 7


@dataclass(frozen=True, slots=True)
class MaskCost:
    """Microseconds of each mask, sorted."""

    microseconds: tuple[float, ...]
    answers: int
    refusal: str = ""
    """Why there are no figures."""

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.microseconds)

    @property
    def high(self) -> float:
        """The 99th percentile."""
        return self.microseconds[int(len(self.microseconds) * 0.99)]

    @property
    def most(self) -> float:
        """The slowest."""
        return self.microseconds[-1]


def mask_cost(
    analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer, *, walks: int = WALKS
) -> MaskCost:
    """Write some answers at random, and time the mask before each of their tokens."""
    try:
        return _timed(analysis, tools, tokenizer, walks)
    except AutoparserError as error:
        return MaskCost((), 0, str(error))


def _timed(analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer, walks: int) -> MaskCost:
    with analysis.backend(tokenizer) as backend:
        decoding = backend.tokenizer
    trial = DecodingTrial(
        analysis.formats.default,
        analysis.grammar(list(tools)),
        analysis.parser(list(tools)),
        decoding,
        analysis.turns(tools),
    )
    mask = new_mask(1, decoding.mask_words)
    times: list[float] = []
    answers = list(islice(trial.walks(walks, seed=SEED, limit=MOST_TOKENS), walks))
    for answer in answers:
        grammar = trial.compiled.clone()
        for token in answer.tokens:
            begun = perf_counter()
            grammar.fill_vocab_mask(mask)
            times.append((perf_counter() - begun) * 1e6)
            grammar.accept_token(token)
    if not times:
        return MaskCost((), len(answers), "no answer has a token")
    return MaskCost(tuple(sorted(times)), len(answers))
