"""A question asked of every template of the corpus, in processes where the system can fork."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")
Asked = TypeVar("Asked")


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
    ask: Callable[[Asked], Answer], asked: Sequence[Asked], processes: int, chunk: int
) -> list[Answer]:
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return list(map(ask, asked))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return list(pool.map(ask, asked, chunksize=chunk))
