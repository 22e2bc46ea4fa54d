"""Every parser that a server has, ranked by the texts that it reads as they are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import yaml

from autoparser.analysis.core.conversation import Json, ReadMessage
from autoparser.analysis.core.documents import Count

from .engine_server import (
    KnownText,
    PartDifference,
    PartLikeness,
    ReadPart,
    TextRefusedError,
    message_differences,
    nearest_reading,
)
from .sglang_server import SglangProbe

# One text, and what a server makes of it.


class ReadVerdict(StrEnum):
    """How a server reads a text."""

    EXACT = "exact"
    EDGES = "edges"
    """As it is meant but for whitespace at the edges of a part."""
    DIFFERENT = "different"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ProbedText:
    """One text, and what the server makes of it."""

    known: KnownText
    came: ReadMessage | None
    """None: the server refuses."""
    refusal: str = ""
    differences: tuple[PartDifference, ...] = ()
    streamed: ReadMessage | None = None
    """What a client puts together of the stream; None: there is none."""
    stream_refusal: str = ""

    @property
    def verdict(self) -> ReadVerdict:
        """How far it is read as it is meant, at once."""
        return ReadVerdict.REFUSED if self.came is None else _verdict(self.differences)

    @property
    def stream_verdict(self) -> ReadVerdict | None:
        """How far its stream is the answer at once; None: that was not compared."""
        if self.stream_refusal:
            return ReadVerdict.REFUSED
        return None if self.streamed is None else _verdict(self.stream_differences)

    @property
    def stream_differences(self) -> tuple[PartDifference, ...]:
        """What the stream has otherwise than the answer at once."""
        if self.came is None or self.streamed is None:
            return ()
        return message_differences(self.came, self.streamed)


def _verdict(found: Sequence[PartDifference]) -> ReadVerdict:
    if not found:
        return ReadVerdict.EXACT
    edges = all(each.likeness is PartLikeness.EDGES for each in found)
    return ReadVerdict.EDGES if edges else ReadVerdict.DIFFERENT


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A message about whose text the server was not asked."""

    title: str
    reason: str


PATIENCE = 3
"""A parser that fails at the first texts, content, reasoning and calls among them, is given up."""
LISTED = Path(__file__).with_name("sglang_parsers.yaml")


@dataclass(frozen=True, slots=True)
class ParserScore:
    """How many texts one parser reads as they are meant."""

    name: str
    exact: Count
    edges: Count
    """As they are meant but for whitespace at the edges of a part."""
    different: Count
    refused: Count
    """Texts at which it fails."""

    @property
    def right(self) -> int:
        """As they are meant, whitespace at edges aside."""
        return self.exact + self.edges


@dataclass(frozen=True)
class ParserRanking:
    """The parsers of a server, the best first."""

    reasoning: tuple[ParserScore, ...]
    """By the reasoning alone."""
    calls: tuple[ParserScore, ...]
    """By content and calls, in what the best parser of reasoning leaves."""
    unknown: tuple[str, ...]
    """Names that were asked for, and that the server refuses whatever the text."""

    @property
    def best(self) -> tuple[ParserScore | None, ParserScore | None]:
        """The best one of each: reasoning, calls."""
        return next(iter(self.reasoning), None), next(iter(self.calls), None)


Reading = Callable[[KnownText], ReadMessage]


def rank_parsers(
    server: SglangProbe, texts: Sequence[KnownText], tools: Sequence[Json]
) -> ParserRanking:
    """Have every parser read every text. Raises ProbeError."""
    served, listed = server.served, _listed()
    thinkers = dict.fromkeys((served.reasoning_parser, *listed["reasoning_parsers"]))
    callers = dict.fromkeys((served.tool_parser, *listed["tool_call_parsers"]))

    def separated(parser: str) -> Reading:
        return lambda known: ReadMessage(reasoning=server.separated(known.text, parser)[0])

    reasoning = [
        _score(name, texts, separated(name), [ReadPart.REASONING])
        for name in filter(None, thinkers)
    ]
    known, unknown = _sorted(reasoning)
    best = known[0].name if known else None

    @cache
    def rest(text: str) -> str:
        return text if best is None else server.separated(text, best)[1]

    def called(parser: str) -> Reading:
        def read(known: KnownText) -> ReadMessage:
            content, calls = server.called(rest(known.text), tools, parser)
            return ReadMessage(content, calls=calls)

        return read

    calls = [
        _score(name, texts, called(name), [ReadPart.CONTENT, ReadPart.CALLS])
        for name in filter(None, callers)
    ]
    able, unable = _sorted(calls)
    return ParserRanking(tuple(known), tuple(able), (*unknown, *unable))


def _score(
    name: str, texts: Sequence[KnownText], read: Reading, parts: Sequence[ReadPart]
) -> ParserScore:
    exact = edges = different = refused = 0
    for known in texts:
        try:
            came = read(known)
        except TextRefusedError:
            refused += 1
            if refused == PATIENCE and not exact + edges + different:
                break
            continue
        found = nearest_reading(known.meanings, came, parts)
        if not found:
            exact += 1
        elif all(each.likeness is PartLikeness.EDGES for each in found):
            edges += 1
        else:
            different += 1
    return ParserScore(name, exact, edges, different, refused)


def _sorted(scores: Iterable[ParserScore]) -> tuple[list[ParserScore], list[str]]:
    """Return the best first, and the names that the server does not have."""
    every = list(scores)
    known = [each for each in every if each.right or each.different]
    # One that was given first wins where two are as good: the one that the server was started with.
    known.sort(key=lambda each: (-each.right, -each.exact, each.refused))
    return known, [each.name for each in every if each not in known]


@cache
def _listed() -> Mapping[str, Sequence[str]]:
    listed: Mapping[str, Sequence[str]] = yaml.safe_load(LISTED.read_text("utf-8"))
    return listed
