"""Everything that answers to one request are written and judged with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

from autoparser.analysis.constraining.constrained import (
    ConstraintError,
    GrammarBackend,
    GrammarObject,
    RandomSampler,
    RefusedTokenError,
    walk,
)
from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.format import Begun
from autoparser.analysis.loading.tokens import ModelTokenizer
from autoparser.analysis.reading.parsing import OutputParser

from .answers import DecodedAnswer
from .judge import Judge
from .vocabulary import MarkerFit, closing_texts, marker_fit

HASTE = (0.05, 0.2, 0.5)
"""How likely a walk closes what it may close: some walks are long, most are short."""


@dataclass(frozen=True)
class DecodingTrial:
    """A request with its grammar, its parser, and the tokenizer of the model."""

    begun: Begun
    """What the request's prompt belongs to."""
    grammar: Grammar
    parser: OutputParser
    """Of the same request."""
    tokenizer: ModelTokenizer
    prompt: str | None = None
    """The request's rendered prompt, or its tail; None: the template's default one."""

    @cached_property
    def compiled(self) -> GrammarObject:
        """The grammar before the first token; clone it.

        Raises GrammarError and SchemaError for what cannot be written, ConstraintError for what
        llguidance refuses.
        """
        with GrammarBackend(self.tokenizer, workers=1) as backend:
            return backend.grammar(self.grammar)

    @cached_property
    def judge(self) -> Judge:
        """The judge of the answers; raises as `compiled` does."""
        return Judge(self.begun, self.grammar, self.parser, self.compiled)

    @cached_property
    def fit(self) -> MarkerFit:
        """Which of the format's markers are no tokens of this tokenizer."""
        return marker_fit(self.grammar, self.tokenizer)

    def walks(self, count: int, *, seed: int, limit: int) -> Iterator[DecodedAnswer]:
        """Walk through the grammar at random, each walk by a seed of its own, `seed` the first.

        `limit` is in tokens. Raises as `compiled` does.
        """
        closers = closing_texts(self.grammar.rules(self.tokenizer.opaque))
        compiled, tokenizer = self.compiled, self.tokenizer
        for number in range(seed, seed + count):
            haste = Random(number).choice(HASTE)
            sampler = RandomSampler(tokenizer, number, ending=haste, closing=haste, closers=closers)
            name = f"walk {number}"
            try:
                done = walk(compiled.clone(), tokenizer, sampler, limit)
            except (ConstraintError, RefusedTokenError) as error:
                yield DecodedAnswer(name, "", broken=str(error))
            else:
                yield DecodedAnswer(name, done.text, done.tokens, done.ended, done.forced)
