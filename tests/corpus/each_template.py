"""A question asked of every template of the corpus, in processes where the system can fork."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")


def of_each(
    ask: Callable[[Path], Answer | None], paths: Sequence[Path], processes: int, *, chunk: int
) -> list[Answer]:
    """Return the answers in the order of the paths, without those that are None.

    A process takes `chunk` templates at a time: fewer where a template takes long.
    """
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        found = [ask(path) for path in paths]
    else:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            found = list(pool.map(ask, paths, chunksize=chunk))
    return [each for each in found if each is not None]
