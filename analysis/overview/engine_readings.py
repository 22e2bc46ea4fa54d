"""Count how the built-in parsers of engines read the turns of many templates.

Contract: a process of an engine is started once and is asked about all templates. The texts and the
verdicts are those of `engines`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import compress
from typing import Literal, TypeAlias

from msgspec import Struct

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.documents import Count
from autoparser.analysis.engines.engine_process import EngineProcess
from autoparser.analysis.engines.engine_ranking import EngineRanking, PairScore, rank_parsers
from autoparser.analysis.engines.ranking_texts import asked_texts

ParserChoice: TypeAlias = Literal["best", "auto", "own"]
"""The best pair of parsers, the pair that the engine's `auto` chooses, or the engine's only one."""


class EngineReading(Struct, frozen=True):
    """How one choice of an engine's parsers reads the turns of a template."""

    engine: str
    """The engine and its version, e.g. `vllm 0.32.0`."""
    choice: ParserChoice
    """The best pair of parsers, the pair that `auto` chooses, or the engine's only parser."""
    tool: str | None
    """The tool-call parser, e.g. `hermes`."""
    reasoning: str | None
    """The reasoning parser, e.g. `qwen3`."""
    texts: Count
    """The number of texts that it was asked to read, such as `42`."""
    right: Count
    """The number of texts that it reads right at once, such as `41`."""
    streamed: Count
    """The number of texts that it reads right in every stream, such as `41`."""
    hostile: Count
    """The number of texts in which markers or calls are quoted, such as `4`."""
    hostile_right: Count
    """The number of these that it reads right at once, such as `4`."""
    hostile_streamed: Count
    """The number of these that it reads right in every stream, such as `4`."""
    unanswered: Count = 0
    """The number of texts without an answer, such as `1`: the engine raises, refuses the request or
    hangs."""
    late: Count = 0
    """The number of these that a time limit ended, such as `1`: the engine may be slow rather than
    wrong."""

    @property
    def least(self) -> float:
        """The share of texts read right, at once or streamed, whichever is smaller."""
        return min(self.right, self.streamed) / (self.texts or 1)


def read_with_engines(
    analysis: Analysis, processes: Sequence[EngineProcess]
) -> tuple[EngineReading, ...]:
    """Ask engines to read a template's turns; return nothing if none has a call.

    Raises AutoparserError.
    """
    asked = asked_texts(analysis)
    if not any(text.meant.calls for text in asked.texts):
        return ()
    found: list[EngineReading] = []
    for process in processes:
        ranking = rank_parsers(process, analysis, asked)
        # The verdicts of a ranking do not include the texts that it left out.
        left = [text.hostile for at, text in enumerate(asked.texts) if at not in ranking.left_out]
        found += _readings(ranking, left)
    return tuple(found)


def _readings(ranking: EngineRanking, hostile: Sequence[bool]) -> Iterator[EngineReading]:
    choice: ParserChoice = "best" if ranking.offered.has_parsers else "own"
    yield _reading(ranking.engine, choice, ranking.best, hostile)
    if ranking.auto is not None:
        yield _reading(ranking.engine, "auto", ranking.auto, hostile)


def _reading(
    engine: str, choice: ParserChoice, score: PairScore, hostile: Sequence[bool]
) -> EngineReading:
    rows = zip(*(delivery.verdicts for delivery in score.streamed), strict=True)
    # A text counts only if it is read right in every way of cutting the stream.
    streamed = [all(verdict.right for verdict in row) for row in rows]
    whole = [verdict.right for verdict in score.whole.verdicts]
    return EngineReading(
        engine,
        choice,
        score.pair.tool,
        score.pair.reasoning,
        score.total,
        sum(whole),
        sum(streamed),
        sum(hostile),
        sum(compress(whole, hostile)),
        sum(compress(streamed, hostile)),
        sum(verdict.part == "message" for verdict in score.whole.verdicts),
        score.whole.late,
    )


@contextmanager
def engine_processes(engines: Sequence[tuple[str, str]]) -> Generator[tuple[EngineProcess, ...]]:
    """Yield a process for each engine, given as (name, Python); they end with the block."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(EngineProcess(*engine)) for engine in engines)
