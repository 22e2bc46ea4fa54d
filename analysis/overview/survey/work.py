"""The templates of a survey, each looked at in a worker: none can stop it or eat the machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.isolation import NO_LIMITS, Limits, WorkerPool
from autoparser.analysis.overview.portrait import Portrait, portray

from .record import Record, record_of, recorded, surveyed_format

Waiting: TypeAlias = tuple[str, str]
"""A source and the digest of its text."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What became of one template."""

    record: Record
    page: str = ""
    """What was drawn of it; empty where that was not asked, or it can be neither analysed nor
    rendered."""


Survey: TypeAlias = Callable[[Sequence[Waiting]], Iterator[Surveyed]]
"""Gives what became of the templates in their order, each as soon as it is there."""


@dataclass(frozen=True, slots=True)
class SurveyLook:
    """How each template is looked at. Workers are sent it, so what it holds can be pickled."""

    linted: bool = False
    """Whether what lint finds is counted; always where something is drawn, which shows it."""
    draw: Callable[[Portrait], str] | None = None
    """Draws a page of everything about a template."""

    def __call__(self, waiting: Waiting) -> Surveyed:
        """Look at one template; whatever it does is a record."""
        source, digest = waiting
        if self.draw is None:
            return Surveyed(record_of(source, digest, linted=self.linted))
        try:
            # No tokenizer: masks that are timed while other workers run say nothing.
            learnt = surveyed_format(source)
            if not isinstance(learnt, Analysis):
                return Surveyed(recorded(source, digest, learnt))
            portrait = portray(learnt)
            record = recorded(source, digest, portrait.analysis, portrait.lint)
            return Surveyed(record, self.draw(portrait))
        except AutoparserError as error:
            return Surveyed(Record.failed(source, digest, error.message))


@contextmanager
def surveying(
    processes: int, limits: Limits | None, look: SurveyLook | None = None
) -> Generator[Survey]:
    """Start workers and give what looks at templates; begin before any thread is started.

    `limits` are those of one template; None trusts them, and one process is then this one.
    """
    look = look or SurveyLook()
    if limits is None and processes == 1:
        yield lambda waiting: map(look, waiting)
        return
    with WorkerPool(processes, limits=limits or NO_LIMITS) as pool:
        yield lambda waiting: _surveyed(pool, look, waiting)


def _surveyed(pool: WorkerPool, look: SurveyLook, waiting: Sequence[Waiting]) -> Iterator[Surveyed]:
    outcomes = pool.map(look, waiting, name=lambda each: each[0])
    for (source, digest), outcome in zip(waiting, outcomes, strict=True):
        error = outcome.error
        if error is None:
            yield outcome.result()
        else:
            yield Surveyed(Record.failed(source, digest, error.message))
