"""All engines that are there, tried on one template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis

from .asked_texts import asked_texts
from .engine_process import EngineProcess
from .engine_ranking import EngineRanking, rank_parsers


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
