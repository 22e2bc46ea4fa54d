"""What is known of a pair of an engine's parsers once it has read the texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Agreement, Message, ReadingVerdict, ReadMessage

from .asked_texts import AskedText
from .engine_process import ParserAnswer, ParserError, ParserPair


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
        return sum(each.agreement is Agreement.EXACT for each in self.verdicts)

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
    return ReadingVerdict(Agreement.OTHER, "message", "to be read", answer.reason)


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
