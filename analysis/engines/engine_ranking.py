"""Which parsers of an engine read a template's turns best.

Contract: each parser is tried apart first, one of calls by the calls that it finds alone, one of
reasoning by the reasoning alone. The best of both kinds are put together, and none of a kind is a
choice, too; the pairs are ranked by whole messages, read at once and streamed. Ties are broken by
what is exact to the letter, then for the fewer parsers, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Message,
    MessageAgreement,
    ReadingVerdict,
    ReadMessage,
)
from autoparser.analysis.core.message_battery import loose_tools
from autoparser.analysis.templates.chat_template import ChatTemplate

from .engine_process import EngineParsers, EngineProcess, ParserAnswer, ParserError, ParserPair
from .parser_questions import AskedText, AskedTexts, asked_texts

# What is known of a pair of an engine's parsers once it has read the texts.


class TextDelivery(StrEnum):
    """How a text comes to a parser."""

    WHOLE = "at once"
    TOKENS = "a token at a time"
    BLOCKS = "several tokens at a time"

    @property
    def tokens(self) -> int:
        """Tokens of a delta; 0: there are no deltas."""
        return {TextDelivery.WHOLE: 0, TextDelivery.TOKENS: 1, TextDelivery.BLOCKS: 6}[self]


@dataclass(frozen=True, slots=True)
class ParserFailure:
    """A text that was read otherwise than it means."""

    title: str
    delivery: TextDelivery
    text: str
    meant: Message
    verdict: ReadingVerdict


@dataclass(frozen=True, slots=True)
class DeliveryScore:
    """How the texts were read that came in one way."""

    delivery: TextDelivery
    verdicts: tuple[ReadingVerdict, ...]
    """Of each text."""

    @property
    def exact(self) -> int:
        """How many were read to the letter."""
        return sum(each.agreement is MessageAgreement.EXACT for each in self.verdicts)

    @property
    def right(self) -> int:
        """How many were read right, up to whitespace at the edges of texts."""
        return sum(each.right for each in self.verdicts)


@dataclass(frozen=True, slots=True)
class PairScore:
    """How a pair of parsers read the texts."""

    pair: ParserPair
    whole: DeliveryScore
    streamed: tuple[DeliveryScore, ...]
    failure: ParserFailure | None
    """That with the shortest text."""

    @property
    def total(self) -> int:
        """How many texts there were."""
        return len(self.whole.verdicts)

    @property
    def streamed_right(self) -> int:
        """How many were read right in every stream."""
        rows = zip(*(each.verdicts for each in self.streamed), strict=True)
        return sum(all(verdict.right for verdict in row) for row in rows)

    @property
    def all_right(self) -> bool:
        """Whether every text was read right, at once and streamed."""
        return self.whole.right == self.streamed_right == self.total


def delivery_score(
    delivery: TextDelivery,
    texts: Sequence[AskedText],
    answers: Sequence[ParserAnswer] | ParserError,
) -> DeliveryScore:
    """Judge what was read of each text."""
    given = [answers] * len(texts) if isinstance(answers, ParserError) else answers
    pairs = zip(texts, given, strict=True)
    return DeliveryScore(delivery, tuple(verdict_on(text, answer) for text, answer in pairs))


def verdict_on(asked: AskedText, answer: ParserAnswer) -> ReadingVerdict:
    """Judge what was read of one text."""
    if isinstance(answer, ReadMessage):
        return asked.judge.judge(asked.meant, answer)
    return ReadingVerdict(MessageAgreement.OTHER, "message", "to be read", answer.reason)


def shortest_failure(
    texts: Sequence[AskedText], scores: Sequence[DeliveryScore]
) -> ParserFailure | None:
    """Return the failure with the shortest text, at once before streamed."""
    found = list(_failures(texts, scores))
    return min(found, key=lambda each: len(each.text)) if found else None


def _failures(
    texts: Sequence[AskedText], scores: Sequence[DeliveryScore]
) -> Iterator[ParserFailure]:
    for score in scores:
        for asked, verdict in zip(texts, score.verdicts, strict=True):
            if not verdict.right:
                yield ParserFailure(asked.title, score.delivery, asked.text, asked.meant, verdict)


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


# All engines that are there, tried on one template.


@dataclass(frozen=True, slots=True)
class EnginesTried:
    """What came of them."""

    template: str
    texts: int
    hostile: int
    """How many of the texts have markers or calls where they are text."""
    not_asked: int
    """Messages that no text stands for: see `AskedTexts`."""
    rankings: tuple[EngineRanking, ...]

    @property
    def ok(self) -> bool:
        """Whether some parsers of some engine read everything."""
        return any(pair.all_right for each in self.rankings for pair in each.pairs)


def try_engines(
    name: str,
    analysis: Analysis,
    engines: Sequence[tuple[str, str]],
    say: Callable[[str], object],
    vocabulary: Sequence[str] | None = None,
) -> EnginesTried:
    """Rank the parsers of engines, each named with its Python; `say` is told which is asked.

    `vocabulary` has the model's tokens, None where they are not known. Raises EngineError.
    """
    asked = asked_texts(analysis)
    rankings: list[EngineRanking] = []
    for engine, python in engines:
        say(f"asking {engine}")
        with EngineProcess(engine, python) as process:
            rankings.append(rank_parsers(process, analysis, asked, vocabulary))
    hostile = sum(each.hostile for each in asked.texts)
    return EnginesTried(name, len(asked.texts), hostile, asked.not_asked, tuple(rankings))
