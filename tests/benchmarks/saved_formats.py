"""Measure how long a saved format takes to read: `python -m tests.benchmarks.saved_formats`.

Every sixteenth of the fixtures is analyzed and saved; each file is read several times, and the
quickest counts. `ratio` is to Python's own `json.loads` of the same bytes, which makes no format of
them. The exit code is 1 if a file takes longer than it may.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from autoparser import analyze, load_format, load_template
from tests.benchmarks.measuring import TEMPLATE, least_seconds, print_lines

EVERY = 16
READS = 7
MOST = 0.005
"""Seconds that reading a file may take."""


def main() -> int:
    """Print the table."""
    costs: list[tuple[float, float, int, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for template in sorted(TEMPLATE.parent.glob("*.jinja"))[::EVERY]:
            file = Path(folder) / f"{template.stem}.format.json"
            analyze(load_template(template)).save(file)
            content = file.read_bytes()
            took = least_seconds(partial(load_format, file), READS)
            of_json = least_seconds(partial(json.loads, content), READS)
            costs.append((took, of_json, len(content), template.stem))
    slowest, _, _, name = max(costs)
    print_lines(
        [
            f"{len(costs):>6}  files, {median(cost[2] for cost in costs) / 1000:.1f} kB the median",
            f"{1000 * median(cost[0] for cost in costs):>6.2f}  ms to read one, the median",
            f"{median(cost[0] / cost[1] for cost in costs):>6.2f}  ratio, the median",
            f"{1000 * slowest:>6.2f}  ms at most: {name}",
        ]
    )
    return 1 if slowest > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
