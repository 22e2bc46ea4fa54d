"""Work on many values in processes; the answers come in the order of the values.

The one place that knows how it is done.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import TypeVar

_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer")


def usual_jobs() -> int:
    """Give how many processes are worth while here."""
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available is not None else os.cpu_count() or 1


def in_order(
    work: Callable[[_Value], _Answer],
    values: Sequence[_Value],
    jobs: int,
    *,
    lost: Callable[[_Value], _Answer],
    progress: Callable[[int], Callable[[], object]],
) -> list[_Answer]:
    """Give the answers to all values, in their order.

    `lost` answers for a value on which a process died; `progress` is told how many values there
    are, and gives what is called after each.
    """
    if min(jobs, len(values)) <= 1:
        return list(_here(work, values, progress(len(values))))
    context = multiprocessing.get_context(_method())
    with _Pool(min(jobs, len(values)), mp_context=context, initializer=_uninterrupted) as pool:
        futures = [pool.submit(work, value) for value in values]
        # Asked once the processes are there: what shows it may have a thread, and those that have
        # are not to be forked.
        advance = progress(len(values))
        for future in futures:
            future.add_done_callback(lambda _: advance())
        answers = [_answer(future) for future in futures]
    # A process that dies takes the waiting values with it: those have another try, each alone.
    return [
        _alone(work, value, context, lost) if answer is None else answer[0]
        for value, answer in zip(values, answers, strict=True)
    ]


class _Pool(ProcessPoolExecutor):
    """A pool that is left at once when something is raised, an interrupt among others."""

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.shutdown(cancel_futures=kind is not None)


def _uninterrupted() -> None:
    """Leave an interrupt to the parent, which ends the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _method() -> str:
    return "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"


def _here(
    work: Callable[[_Value], _Answer], values: Sequence[_Value], advance: Callable[[], object]
) -> Iterator[_Answer]:
    for value in values:
        yield work(value)
        advance()


def _answer(future: Future[_Answer]) -> tuple[_Answer] | None:
    try:
        return (future.result(),)
    except BrokenProcessPool:
        return None


def _alone(
    work: Callable[[_Value], _Answer],
    value: _Value,
    context: BaseContext,
    lost: Callable[[_Value], _Answer],
) -> _Answer:
    with _Pool(1, mp_context=context, initializer=_uninterrupted) as pool:
        answer = _answer(pool.submit(work, value))
    return lost(value) if answer is None else answer[0]
