"""Which parsers of an engine read a template's turns best.

Contract: each parser is tried apart first, one of calls by the calls that it finds alone, one of
reasoning by the reasoning alone. The best of both kinds are put together, and none of a kind is a
choice, too; the pairs are ranked by whole messages, read at once and streamed. Ties are broken by
what is exact to the letter, then for the fewer parsers, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.battery import loose_tools
from autoparser.analysis.core.conversation import Message, ReadMessage
from autoparser.analysis.loading.template import ChatTemplate

from .asked_texts import AskedTexts
from .engine_process import EngineParsers, EngineProcess, ParserAnswer, ParserError, ParserPair
from .parser_score import (
    PairScore,
    TextDelivery,
    delivery_score,
    shortest_failure,
)

_IN_BRACKETS = re.compile(r"<[^<>\s]{1,40}>|\[[^\[\]\s]{1,40}\]")
TRIED = 4
"""Parsers of a kind that are put together with those of the other."""


class ParserPart(StrEnum):
    """Which part of a message a parser is there for."""

    CALLS = "calls"
    REASONING = "reasoning"

    def alone(self, read: ReadMessage) -> ReadMessage:
        """Return this part of what was read."""
        if self is ParserPart.CALLS:
            return ReadMessage(calls=read.calls)
        return ReadMessage(reasoning=read.reasoning)

    def meant(self, message: Message) -> Message:
        """Return this part of a message."""
        if self is ParserPart.CALLS:
            return Message(calls=message.calls)
        return Message(reasoning=message.reasoning)

    def parser(self, name: str) -> ParserPair:
        """Return a parser of this part, with none of the other."""
        return ParserPair(tool=name) if self is ParserPart.CALLS else ParserPair(reasoning=name)


@dataclass(frozen=True, slots=True)
class UnusableParser:
    """A parser that could not be asked."""

    part: ParserPart
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class EngineRanking:
    """What came of one engine's parsers."""

    offered: EngineParsers
    python: str
    pairs: tuple[PairScore, ...]
    """The best first."""
    auto: PairScore | None
    """What the engine's `auto` would choose by the template; None: it has none."""
    alike: tuple[tuple[str, ...], ...] = ()
    """Names of parsers that read every text alike; the first of them was put into pairs."""
    unusable: tuple[UnusableParser, ...] = ()
    left_out: Mapping[int, str] = field(default_factory=dict[int, str])
    """The texts that the engine cannot be asked about, by their places, and why."""

    @property
    def engine(self) -> str:
        """The engine and its version."""
        return f"{self.offered.name} {self.offered.version}"

    @property
    def best(self) -> PairScore:
        """The pair to pass; none, where nothing is better than no parser."""
        return self.pairs[0]


def rank_parsers(
    process: EngineProcess,
    analysis: Analysis,
    asked: AskedTexts,
    vocabulary: Sequence[str] | None = None,
) -> EngineRanking:
    """Ask one engine. Raises EngineError where it cannot be asked at all.

    The engine's `auto` looks at the model's `vocabulary`, too; None: it is not known.
    """
    return _Ranking(process, analysis, asked, vocabulary).ranked()


class _Ranking:
    """One engine and one template's texts."""

    def __init__(
        self,
        process: EngineProcess,
        analysis: Analysis,
        asked: AskedTexts,
        vocabulary: Sequence[str] | None,
    ) -> None:
        self._process, self._texts = process, asked.texts
        self._offered = process.parsers()
        self._deliveries = [
            each for each in TextDelivery if not each.tokens or each.tokens in self._offered.steps
        ]
        loaded = process.load(
            analysis.template,
            _likely_tokens(analysis.template) if vocabulary is None else vocabulary,
            loose_tools(),
            [each.to_worker() for each in asked.texts],
        )
        self._chosen = loaded.auto
        self._left_out = loaded.left_out
        self._asked = [at for at in range(len(asked.texts)) if at not in loaded.left_out]
        self._unusable: list[UnusableParser] = []
        self._alike: list[tuple[str, ...]] = []

    def ranked(self) -> EngineRanking:
        """Try parsers apart, then the best together."""
        calling = [at for at in self._asked if self._texts[at].meant.calls]
        thinking = any(self._texts[at].meant.reasoning for at in self._asked)
        tools = self._best(ParserPart.CALLS, self._offered.tools, calling)
        thinkers = self._offered.reasoning * thinking
        reasoning = self._best(ParserPart.REASONING, thinkers, self._asked)
        pairs = [ParserPair(*each) for each in product(tools, reasoning)]
        scored = sorted(map(self._score, pairs), key=_worst_last)
        return EngineRanking(
            self._offered,
            self._process.python,
            tuple(scored),
            self.auto(),
            tuple(self._alike),
            tuple(self._unusable),
            self._left_out,
        )

    def auto(self) -> PairScore | None:
        """Judge what the engine chooses by itself; None where it chooses nothing."""
        return None if self._chosen is None else self._score(self._chosen)

    def _best(
        self, part: ParserPart, names: Sequence[str], texts: Sequence[int]
    ) -> list[str | None]:
        """Return None, for no parser, and those that read their part of the messages best.

        Of parsers that read alike, which an engine has under several names, one is returned.
        """
        read: dict[tuple[ParserAnswer, ...], list[str]] = {}
        for name in names if texts else ():
            answers = self._read(part, name, texts)
            if answers:
                read.setdefault(answers, []).append(name)
        found: list[tuple[int, str]] = []
        for answers, alike in read.items():
            found.append((-self._right(part, (*texts, *texts), answers), alike[0]))
            self._alike += [tuple(alike)] * (len(alike) > 1)
        return [None, *(name for _, name in sorted(found)[:TRIED])]

    def _read(self, part: ParserPart, name: str, texts: Sequence[int]) -> tuple[ParserAnswer, ...]:
        """Return what a parser reads at once, then streamed; nothing where it reads nothing right.

        Most parsers are for quite other formats; to stream to them, too, takes most of the time.
        """
        answers: list[ParserAnswer] = []
        for delivery in (TextDelivery.WHOLE, TextDelivery.TOKENS):
            given = self._process.read(part.parser(name), texts, delivery.tokens)
            if isinstance(given, ParserError):
                self._unusable.append(UnusableParser(part, name, given.reason))
                return ()
            if not self._right(part, texts, given):
                return ()
            answers += given
        return tuple(answers)

    def _right(
        self, part: ParserPart, texts: Sequence[int], answers: Sequence[ParserAnswer]
    ) -> int:
        """Count what was read right of one part of the messages."""
        right = 0
        for at, answer in zip(texts, answers, strict=True):
            asked = self._texts[at]
            if isinstance(answer, ReadMessage):
                found = asked.judge.judge(part.meant(asked.meant), part.alone(answer))
                right += found.right
        return right

    def _score(self, pair: ParserPair) -> PairScore:
        texts = [self._texts[at] for at in self._asked]
        scores = [
            delivery_score(each, texts, self._process.read(pair, self._asked, each.tokens))
            for each in self._deliveries
        ]
        failure = shortest_failure(texts, scores)
        return PairScore(pair, scores[0], tuple(scores[1:]), failure)


def _likely_tokens(template: ChatTemplate) -> list[str]:
    """Return what may be a token of the model: all texts in brackets that its template holds.

    Only an engine's own guess is made by them, and one token too few would make that a worse one
    than it is.
    """
    found = (*_IN_BRACKETS.findall(template.text), *template.special_tokens.values())
    return list(dict.fromkeys(found))


def _worst_last(score: PairScore) -> tuple[object, ...]:
    pair = score.pair
    return (
        -score.whole.right - score.streamed_right,
        -score.whole.exact - sum(each.exact for each in score.streamed),
        (pair.tool is not None) + (pair.reasoning is not None),
        pair.tool or "",
        pair.reasoning or "",
    )
