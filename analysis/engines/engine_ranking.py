"""Rank the parsers of an engine by the number of a template's turns that they read right.

Contract: each parser is tried alone first, a tool parser by calls only, a reasoning parser by
reasoning only. The best of both kinds, and no parser of a kind, are combined into pairs, which are
ranked by whole messages, read at once and streamed. Ties are broken by exact readings, then by
fewer parsers, then by name.

For example, of two texts `hermes`, without a reasoning parser, reads one exactly and one up to
whitespace at once; streamed, it reads one exactly and one wrong:

    _worst_last(score)  ->  (-3, -2, 1, "hermes", ""): 3 right, 2 exact, 1 parser, their names
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.reading_judge import MessageAgreement, ReadingVerdict, ReadMessage

from .engine_process import (
    EngineParsers,
    EngineProcess,
    ParserAnswer,
    ParserError,
    ParserPair,
    likely_tokens,
)
from .ranking_texts import AskedText, AskedTexts, asked_texts


class TextDelivery(StrEnum):
    """How a text is passed to a parser."""

    WHOLE = "at once"
    """The text in one piece, as for an answer that is not streamed."""
    TOKENS = "a token at a time"
    """A delta for each token."""
    BLOCKS = "several tokens at a time"
    """A delta for each 6 tokens, as under speculative decoding."""

    @property
    def tokens(self) -> int:
        """Number of tokens in a delta; 0 for a text in one piece."""
        return {TextDelivery.WHOLE: 0, TextDelivery.TOKENS: 1, TextDelivery.BLOCKS: 6}[self]


@dataclass(frozen=True, slots=True)
class ParserFailure:
    """A text that was read wrong."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    delivery: TextDelivery
    """How the text came, e.g. `TextDelivery.WHOLE`."""
    text: str
    r"""The text that was parsed, e.g. `"<tool_call>\n{…\"</tool_call>\"}}\n</tool_call>"`."""
    meant: Message
    """The message that it means, e.g. a call with the title `"</tool_call>"`."""
    verdict: ReadingVerdict
    """The first difference between the meaning and the reading, e.g. a call that came as
    `"JSONDecodeError: …"`."""


@dataclass(frozen=True, slots=True)
class DeliveryScore:
    """The score of the texts in one delivery."""

    delivery: TextDelivery
    """How the texts came, e.g. `TextDelivery.TOKENS`."""
    verdicts: tuple[ReadingVerdict, ...]
    """The verdict on each text, e.g. 58 times `MessageAgreement.EXACT`."""
    late: int = 0
    """Number of texts that a time limit ended, usually 0, so that the engine may be slow rather
    than wrong."""

    @property
    def exact(self) -> int:
        """Number of texts read exactly."""
        return sum(verdict.agreement is MessageAgreement.EXACT for verdict in self.verdicts)

    @property
    def right(self) -> int:
        """Number of texts read right, up to whitespace at the edges."""
        return sum(verdict.right for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class PairScore:
    """How a pair of parsers read the texts."""

    pair: ParserPair
    """The parsers, e.g. `ParserPair("hermes", "qwen3")`."""
    whole: DeliveryScore
    """The score of the texts in one piece, e.g. 58 of 58 right."""
    streamed: tuple[DeliveryScore, ...]
    """A score for each size of delta that the engine streams, e.g. 1 token and 6 tokens."""
    failure: ParserFailure | None
    """The failure with the shortest text, e.g. of `"</tool_call> alone in a string"`, or None if
    all texts are read right."""

    @property
    def total(self) -> int:
        """Number of texts."""
        return len(self.whole.verdicts)

    @property
    def streamed_right(self) -> int:
        """Number of texts read right in every stream."""
        rows = zip(*(score.verdicts for score in self.streamed), strict=True)
        return sum(all(verdict.right for verdict in row) for row in rows)

    @property
    def all_right(self) -> bool:
        """Whether every text was read right, at once and streamed."""
        return self.whole.right == self.streamed_right == self.total


def judged_reading(question: AskedText, answer: ParserAnswer) -> ReadingVerdict:
    """Judge the reading of one text."""
    if isinstance(answer, ReadMessage):
        return question.judge.judge(question.meant, answer)
    # A parser that raises leaves a client with nothing, which is wrong in any case.
    return ReadingVerdict(MessageAgreement.OTHER, "message", "to be read", answer.reason)


TRIED = 4
"""Most parsers of each kind that are combined into pairs."""


class ParserPart(StrEnum):
    """The part of a message that a parser reads."""

    CALLS = "calls"
    """The tool calls."""
    REASONING = "reasoning"
    """The reasoning."""

    def right(self, question: AskedText, answer: ParserAnswer) -> bool:
        """Return whether this part of the message was read right."""
        if not isinstance(answer, ReadMessage):
            return False
        if self is ParserPart.CALLS:
            # The other parts are left out, since a parser of calls leaves reasoning in the content.
            meant, read = Message(calls=question.meant.calls), ReadMessage(calls=answer.calls)
        else:
            meant = Message(reasoning=question.meant.reasoning)
            read = ReadMessage(reasoning=answer.reasoning)
        return question.judge.judge(meant, read).right

    def parser(self, name: str) -> ParserPair:
        """Return a parser of this part, with none of the other."""
        return ParserPair(tool=name) if self is ParserPart.CALLS else ParserPair(reasoning=name)


@dataclass(frozen=True, slots=True)
class UnusableParser:
    """A parser that could not be made."""

    part: ParserPart
    """The part that it reads, e.g. `ParserPart.CALLS`."""
    name: str
    """Its name, e.g. `"mistral"`."""
    reason: str
    """Why it could not be made, in the words of the engine, e.g.
    `"ValueError: dying is not here"`."""


@dataclass(frozen=True, slots=True)
class EngineRanking:
    """The ranking of one engine's parsers."""

    offered: EngineParsers
    """The engine and its parsers, e.g. `vllm` with 2 tool parsers and 1 reasoning parser."""
    python: str
    """The Python of the engine, e.g. `"/opt/vllm/bin/python"`."""
    pairs: tuple[PairScore, ...]
    """The pairs, best first, e.g. `ParserPair("careful", "tags")`."""
    auto: PairScore | None
    """The pair that the engine's `auto` chooses by the template, or None if it has no `auto`."""
    alike: tuple[tuple[str, ...], ...] = ()
    """Names of parsers with equal readings, e.g. `(("quick", "quick_too"),)`; the first of them was
    put into pairs."""
    unusable: tuple[UnusableParser, ...] = ()
    """The parsers that could not be made, e.g. `"dying"`."""
    left_out: Mapping[int, str] = field(default_factory=dict[int, str])
    """Why the engine cannot read a text, by index of the text, e.g.
    `{3: "its prompt does not end with …"}`."""

    @property
    def engine(self) -> str:
        """The engine and its version."""
        return f"{self.offered.name} {self.offered.version}"

    @property
    def best(self) -> PairScore:
        """The pair to choose; its parsers are None if none is better than no parser."""
        return self.pairs[0]


def rank_parsers(
    process: EngineProcess,
    analysis: Analysis,
    questions: AskedTexts,
    vocabulary: Sequence[str] | None = None,
    *,
    named: ParserPair | None = None,
) -> EngineRanking:
    """Rank the parsers of one engine. Raises AutoparserError if it cannot be asked at all.

    The engine's `auto` also uses the model's `vocabulary`; None if it is not known. A `named` pair
    takes the place of that choice.
    """
    return _Ranking(process, analysis, questions, vocabulary, named).rank()


class _Ranking:
    """Asks one engine about one template's texts."""

    def __init__(
        self,
        process: EngineProcess,
        analysis: Analysis,
        questions: AskedTexts,
        vocabulary: Sequence[str] | None,
        named: ParserPair | None,
    ) -> None:
        self._process, self._texts = process, questions.texts
        self._offered = process.parsers()
        self._deliveries = [
            delivery
            for delivery in TextDelivery
            # An engine that never bundles tokens is not judged by bundles.
            if not delivery.tokens or delivery.tokens in self._offered.steps
        ]
        loaded = process.load(
            analysis.template,
            likely_tokens(analysis.template) if vocabulary is None else vocabulary,
            questions.offered,
            [text.to_worker() for text in questions.texts],
        )
        self._chosen = named or loaded.auto
        self._left_out = loaded.left_out
        self._text_places = [at for at in range(len(questions.texts)) if at not in loaded.left_out]
        self._unusable: list[UnusableParser] = []
        self._alike: list[tuple[str, ...]] = []

    def rank(self) -> EngineRanking:
        """Try the parsers alone, then pairs of the best."""
        # A parser that finds no calls reads all other texts correctly, so they show nothing.
        calling = [at for at in self._text_places if self._texts[at].meant.calls]
        thinking = any(self._texts[at].meant.reasoning for at in self._text_places)
        tools = self._best(ParserPart.CALLS, self._offered.tools, calling)
        # If the texts contain no reasoning, no reasoning parser can be better than none.
        thinkers = self._offered.reasoning * thinking
        reasoning = self._best(ParserPart.REASONING, thinkers, self._text_places)
        # Score all pairs: each parser's input depends on what the other one leaves.
        pairs = [ParserPair(*names) for names in product(tools, reasoning)]
        scored = sorted(map(self._score, pairs), key=_worst_last)
        return EngineRanking(
            self._offered,
            self._process.python,
            tuple(scored),
            None if self._chosen is None else self._score(self._chosen),
            tuple(self._alike),
            tuple(self._unusable),
            self._left_out,
        )

    def _best(
        self, part: ParserPart, names: Sequence[str], texts: Sequence[int]
    ) -> list[str | None]:
        """Return None, for no parser, and the parsers that read their part of the messages best.

        Of parsers that read alike, such as one under several names, the first is returned.
        """
        read: dict[tuple[ParserAnswer, ...], list[str]] = {}
        for name in names if texts else ():
            answers = self._read(part, name, texts)
            if answers:
                read.setdefault(answers, []).append(name)
        found: list[tuple[int, str]] = []
        for answers, alike in read.items():
            # The texts are listed twice: the answers for whole texts precede those for streams.
            found.append((-self._right(part, (*texts, *texts), answers), alike[0]))
            self._alike += [tuple(alike)] * (len(alike) > 1)
        # No parser may be the best, as for a template without reasoning.
        return [None, *(name for _, name in sorted(found)[:TRIED])]

    def _read(self, part: ParserPart, name: str, texts: Sequence[int]) -> tuple[ParserAnswer, ...]:
        """Return the answers of a parser, at once then streamed; empty if it reads none at once.

        Most parsers are for other formats; streaming to these, too, would take most of the time. A
        parser that only streams wrong is kept.
        """
        answers: list[ParserAnswer] = []
        for delivery in (TextDelivery.WHOLE, TextDelivery.TOKENS):
            given = self._process.read(part.parser(name), texts, delivery.tokens)
            if isinstance(given, ParserError):
                self._unusable.append(UnusableParser(part, name, given.reason))
                return ()
            if delivery is TextDelivery.WHOLE and not self._right(part, texts, given):
                return ()
            answers += given
        return tuple(answers)

    def _right(
        self, part: ParserPart, texts: Sequence[int], answers: Sequence[ParserAnswer]
    ) -> int:
        """Return how many texts were read right in one part of the message."""
        pairs = zip(texts, answers, strict=True)
        return sum(part.right(self._texts[at], answer) for at, answer in pairs)

    def _score(self, pair: ParserPair) -> PairScore:
        texts = [self._texts[at] for at in self._text_places]
        scores: list[DeliveryScore] = []
        failures: list[ParserFailure] = []
        for delivery in self._deliveries:
            answers = self._process.read(pair, self._text_places, delivery.tokens)
            # Parsers that cannot be made read every text wrong.
            every = [answers] * len(texts) if isinstance(answers, ParserError) else answers
            verdicts = tuple(map(judged_reading, texts, every))
            late = sum(isinstance(answer, ParserError) and answer.late for answer in every)
            scores.append(DeliveryScore(delivery, verdicts, late))
            # Only wrong readings are kept, since a report shows one of them.
            failures += [
                ParserFailure(asked.title, delivery, asked.text, asked.meant, verdict)
                for asked, verdict in zip(texts, verdicts, strict=True)
                if not verdict.right
            ]
        # Prefer the shortest text, and a whole text to a streamed one.
        failure = min(failures, key=lambda failure: len(failure.text), default=None)
        return PairScore(pair, scores[0], tuple(scores[1:]), failure)


def _worst_last(score: PairScore) -> tuple[object, ...]:
    pair = score.pair
    return (
        # Negative counts: more right readings sort first, and names break ties in ascending order.
        -score.whole.right - score.streamed_right,
        -score.whole.exact - sum(delivery.exact for delivery in score.streamed),
        (pair.tool is not None) + (pair.reasoning is not None),
        pair.tool or "",
        pair.reasoning or "",
    )


@dataclass(frozen=True, slots=True)
class EnginesTried:
    """The rankings of all engines."""

    template: str
    """The name of the template, as messages show it, e.g. `"model/chat_template.jinja"`."""
    texts: int
    """The number of texts, e.g. 58."""
    hostile: int
    """Number of texts with markers or calls that are text, e.g. 11."""
    not_asked: int
    """Number of messages without a text, e.g. 8: see `AskedTexts`."""
    rankings: tuple[EngineRanking, ...]
    """One for each engine and Python, e.g. of `vllm` and of `sglang`."""

    @property
    def ok(self) -> bool:
        """Whether a pair of some engine reads all texts right."""
        return any(pair.all_right for ranking in self.rankings for pair in ranking.pairs)


def try_engines(
    name: str,
    analysis: Analysis,
    engines: Sequence[tuple[str, str]],
    say: Callable[[str], object],
    vocabulary: Sequence[str] | None = None,
) -> EnginesTried:
    """Rank the parsers of engines, given as (name, Python); `say` is called before each.

    `vocabulary` has the model's tokens, or is None if they are not known. Raises AutoparserError.
    """
    asked = asked_texts(analysis)
    rankings: list[EngineRanking] = []
    for engine, python in engines:
        say(f"asking {engine}")
        with EngineProcess(engine, python) as process:
            rankings.append(rank_parsers(process, analysis, asked, vocabulary))
    hostile = sum(text.hostile for text in asked.texts)
    return EnginesTried(name, len(asked.texts), hostile, asked.not_asked, tuple(rankings))
