"""The templates to fuzz, and their shares, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

from tests.fixture_analyses import TEMPLATES

OWN = (TEMPLATES, TEMPLATES.parent / "novel")
"""Folders of fixtures."""

Result = TypeVar("Result")


def named(paths: Iterable[Path], words: Sequence[str]) -> list[Path]:
    """Return all paths, or those whose names hold one of the words."""
    return [path for path in paths if not words or any(word in path.stem for word in words)]


def paths_of(words: Sequence[str]) -> list[Path]:
    """Return the fixtures to use: all, or those whose names hold one of the words."""
    return named((path for folder in OWN for path in sorted(folder.glob("*.jinja"))), words)


def in_shares(
    fuzz: Callable[[Sequence[Path], int], Result], paths: Sequence[Path], amount: int, jobs: int
) -> list[Result]:
    """Fuzz every n-th path in each of some processes, with as many tries in all as `amount`."""
    count = max(1, min(jobs, len(paths)))
    shares = [paths[start::count] for start in range(count)]
    amounts = [amount // count] * count
    amounts[0] += amount - sum(amounts)
    if count == 1 or "fork" not in multiprocessing.get_all_start_methods():
        return list(map(fuzz, shares, amounts))
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork")) as pool:
        return list(pool.map(fuzz, shares, amounts))
