"""The templates of a survey, each looked at in a worker: none can stop it or eat the machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from autoparser.analysis.loading.isolation import NO_LIMITS, Limits, WorkerPool

from .record import Record, record_of

Waiting: TypeAlias = tuple[str, str]
"""A source and the digest of its text."""
Survey: TypeAlias = Callable[[Sequence[Waiting]], Iterator[Record]]
"""Gives the records in the order of the templates, each as soon as it is there."""


@contextmanager
def surveying(processes: int, limits: Limits | None) -> Generator[Survey]:
    """Start workers and give what looks at templates; begin before any thread is started.

    `limits` are those of one template; None trusts them, and one process is then this one.
    """
    if limits is None and processes == 1:
        yield lambda waiting: map(_looked_at, waiting)
        return
    with WorkerPool(processes, limits=limits or NO_LIMITS) as pool:
        yield lambda waiting: _records(pool, waiting)


def _records(pool: WorkerPool, waiting: Sequence[Waiting]) -> Iterator[Record]:
    outcomes = pool.map(_looked_at, waiting, name=lambda each: each[0])
    for (source, digest), outcome in zip(waiting, outcomes, strict=True):
        error = outcome.error
        yield outcome.result() if error is None else Record.failed(source, digest, error.message)


def _looked_at(waiting: Waiting) -> Record:
    return record_of(*waiting)
