"""Run the trials of both fuzzers: options, shares of templates, and finds."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 20
"""Finds that are printed at most."""


@dataclass
class Tally:
    """The counts of a trial, and its finds."""

    counts: Counter[str] = field(default_factory=Counter[str])
    finds: list[Any] = field(default_factory=list[Any])

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.counts + other.counts, self.finds + other.finds)


def fuzz_options(program: str, doc: str, unit: str, amount: int) -> argparse.ArgumentParser:
    """Return the options of a program that makes so many trials of a unit unless told otherwise."""
    options = argparse.ArgumentParser(prog=f"python -m {program}", description=doc)
    options.add_argument(f"--{unit}", type=int, default=amount, dest="amount", help="in all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", "-j", type=int, default=2)
    options.add_argument("words", nargs="*", help="only templates whose names hold one of these")
    return options


def paths_named(paths: Iterable[Path], words: Sequence[str]) -> list[Path]:
    """Return all paths, or those whose names hold one of the words."""
    return [path for path in paths if not words or any(word in path.stem for word in words)]


def in_shares(
    fuzz: Callable[[Sequence[Path], int], Tally], paths: Sequence[Path], amount: int, jobs: int
) -> Tally:
    """Fuzz every n-th path in each of some processes, with as many trials in all as `amount`."""
    count = max(1, min(jobs, len(paths)))
    shares = [paths[start::count] for start in range(count)]
    amounts = [amount // count] * count
    amounts[0] += amount - sum(amounts)
    if count == 1 or "fork" not in multiprocessing.get_all_start_methods():
        return sum(map(fuzz, shares, amounts), Tally())
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork")) as pool:
        return sum(pool.map(fuzz, shares, amounts), Tally())


def print_finds(finds: Sequence[object], *summary: str) -> int:
    """Print the first finds and lines behind them; return the exit code, 1 if there is a find."""
    for line in (*finds[:SHOWN], *summary):
        # A text may hold lone surrogates, which UTF-8 does not encode.
        sys.stdout.write(str(line).encode("utf-8", "backslashreplace").decode() + "\n")
    return 1 if finds else 0
