"""Work on many values in worker processes; the answers come in the order of the values.

The one place that knows how it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.isolation import NO_LIMITS, Limits, WorkerPool

_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer")


def in_order(
    work: Callable[[_Value], _Answer],
    values: Sequence[_Value],
    jobs: int,
    *,
    limits: Limits | None,
    failed: Callable[[AutoparserError], _Answer],
    progress: Callable[[int], Callable[[], object]],
) -> Iterator[_Answer]:
    """Return the answers to all values, in their order.

    With `limits` each value's work is held to them, in a worker; without, there are workers only
    where several jobs are wanted. `failed` answers where a limit is reached or a worker died.
    `progress` is told how many values there are, and gives what is called after each.
    """
    if not values:
        return
    if limits is None and min(jobs, len(values)) <= 1:
        advance = progress(len(values))
        for value in values:
            yield work(value)
            advance()
        return
    with WorkerPool(min(jobs, len(values)) or 1, limits=limits or NO_LIMITS) as pool:
        # Asked once the workers are there: what shows it may have a thread, and what has threads
        # is not to be forked.
        advance = progress(len(values))
        for outcome in pool.map(work, values):
            advance()
            yield failed(outcome.error) if outcome.error is not None else outcome.result()
