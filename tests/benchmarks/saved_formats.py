"""Measure how long a saved format takes to read: `python -m tests.benchmarks.saved_formats`.

Every sixteenth of the fixtures is analyzed and saved; each file is read several times, and the
quickest counts. `ratio` is to Python's own `json.loads` of the same bytes, which makes no format of
them: it can be compared between machines, milliseconds cannot. The exit code is 1 where a file
takes longer than it may. Nothing is left on the disk.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

from autoparser import analyze, load_format, load_template

TEMPLATES = Path(__file__).parents[2] / "fixtures" / "templates"
EVERY = 16
READS = 7
MOST = 0.005
"""Seconds that reading a file may take."""


class FileCost(NamedTuple):
    """What reading one file costs."""

    name: str
    size: int
    seconds: float
    of_json: float
    """Seconds that `json.loads` takes."""


def costs(folder: Path) -> Iterator[FileCost]:
    """Save formats into a folder, and measure what reading each of them costs."""
    for template in sorted(TEMPLATES.glob("*.jinja"))[::EVERY]:
        file = folder / f"{template.stem}.format.json"
        analyze(load_template(template)).save(file)
        content = file.read_bytes()
        yield FileCost(
            template.stem,
            len(content),
            _quickest(partial(load_format, file)),
            _quickest(partial(json.loads, content)),
        )


def _quickest(read: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(READS):
        start = perf_counter()
        read()
        taken.append(perf_counter() - start)
    return min(taken)


def cost_table(found: Sequence[FileCost]) -> str:
    """Lay the costs out as text."""
    slowest = max(found, key=lambda each: each.seconds)
    lines = (
        f"{len(found):>6}  files, {median(each.size for each in found) / 1000:.1f} kB the median",
        f"{1000 * median(each.seconds for each in found):>6.2f}  ms to read one, the median",
        f"{median(each.seconds / each.of_json for each in found):>6.2f}  ratio, the median",
        f"{1000 * slowest.seconds:>6.2f}  ms at most: {slowest.name}",
    )
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(costs(Path(folder)))
    sys.stdout.write(cost_table(found))
    return 1 if any(each.seconds > MOST for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
