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
    ReasoningOpening,
    RefusedTokenError,
    walk,
)
from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import Begun
from autoparser.analysis.inference.check import TemplateTurns
from autoparser.analysis.loading.tokens import ModelTokenizer
from autoparser.analysis.reading.parsing import OutputParser

from .answers import DecodedAnswer
from .judge import Judge
from .rendering import NoTurns, TurnWriter
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
    turns: TemplateTurns | NoTurns
    """The template's turns after the request's prompt; or why it cannot be asked."""
    prompt: str | None = None
    """The prompt that was given, or its tail; None: the one that `turns` renders."""
    free_reasoning: bool = False
    """Whether the grammar holds only from where the reasoning is closed, as engines have it that
    wait for that; an answer does not end before."""

    @cached_property
    def compiled(self) -> GrammarObject:
        """The grammar before the first token; clone it.

        Raises GrammarError and SchemaError for what cannot be written, and for free reasoning
        that the prompt does not open; ConstraintError for what llguidance refuses.
        """
        with GrammarBackend(self.tokenizer, workers=1) as backend:
            if not self.free_reasoning:
                return backend.grammar(self.grammar)
            rest, close = self.grammar.after_reasoning()
            opening = ReasoningOpening.OPEN
            return backend.reasoning_grammar(rest, end=close, opening=opening, may_end=False)

    @cached_property
    def judge(self) -> Judge:
        """The judge of the answers; raises as `compiled` does."""
        return Judge(self.begun.format, self.grammar, self.parser, self.compiled, self._writer)

    @property
    def _writer(self) -> TurnWriter:
        if self.prompt is None or not self.parser.turn.prefill:
            return self.turns
        return NoTurns("the prompt has begun the message, and the template writes whole ones")

    @property
    def asked(self) -> str:
        """The prompt that a model or a server is given.

        Raises AutoparserError where none was given and the template refuses to render one.
        """
        if self.prompt is not None:
            return self.prompt
        if isinstance(self.turns, NoTurns):
            raise AutoparserError(
                f"no prompt can be rendered: {self.turns.reason}",
                hint="give one with --prompt FILE",
            )
        error = self.turns.prompted.error
        if error is not None:
            raise AutoparserError(
                f"no prompt can be rendered: {error}", hint="give one with --prompt FILE"
            ) from error
        return self.turns.prompt

    @cached_property
    def fit(self) -> MarkerFit:
        """Which of the format's markers are not tokens of this tokenizer."""
        return marker_fit(self.grammar, self.tokenizer)

    def walks(self, count: int, *, seed: int, limit: int) -> Iterator[DecodedAnswer]:
        """Walk through the grammar at random, each walk by a seed of its own, `seed` the first.

        `limit` is in tokens. Raises as `compiled` does.
        """
        compiled, tokenizer = self.compiled, self.tokenizer
        calls = self.grammar.turn.strict.calls
        closers = closing_texts(self.grammar.rules(tokenizer.opaque), calls)
        if self.free_reasoning:
            closers = (self.grammar.after_reasoning()[1], *closers)
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
