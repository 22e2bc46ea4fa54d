"""The templates of a survey, looked at in processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from .record import Record, record_of

FEW = 2
"""Done here before a process is started."""

Waiting = tuple[str, str]
"""A source and the digest of its text."""


def surveyed(waiting: Sequence[Waiting], processes: int) -> Iterator[Record]:
    """Give the records in the order of the templates, each as soon as it is there."""
    left = list(waiting)
    if processes == 1 or len(left) <= FEW:
        yield from (record_of(*each) for each in left)
        return
    # Threads of a tokenizer do not survive a fork, so processes begin anew.
    context = multiprocessing.get_context("spawn")
    while left:
        done = 0
        try:
            with ProcessPoolExecutor(processes, mp_context=context) as pool:
                for record in pool.map(record_of, *zip(*left, strict=True)):
                    done += 1
                    yield record
        except BrokenProcessPool:
            source, digest = left[done]
            yield Record(source, digest, error="the process that analysed it ended")
            done += 1
        left = left[done:]
