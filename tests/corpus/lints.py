"""The linter over the corpus, its counts beside those that were known before.

`lint_reference.yaml` holds, for each rule that corresponds to a probe of an earlier survey, how
many templates that probe hit, and why the rule hits more or fewer. That survey was of 793
templates, this corpus has 786, and its probes were prototypes: a count says how often a thing is,
not where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.project_run import LintRequest, lint_project
from autoparser.analysis.lint.project_settings import ProjectSettings
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Rule, RuleNeed

from .outcomes import PROCESSES

REFERENCE = Path(__file__).parent / "lint_reference.yaml"


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier survey counted."""

    hits: int
    of: int
    """How many templates were asked: all, or those with calls or reasoning."""
    why: str = ""
    """Why the rule counts otherwise."""


def reference() -> Mapping[str, Known]:
    """Return what is known of rules, by code."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(REFERENCE.read_text(encoding="utf-8"))
    return {code: Known(**row) for code, row in rows.items()}


def lints(paths: Sequence[Path], processes: int = PROCESSES) -> LintRun:
    """Hold the templates against every rule, those too that do not run by default."""
    return lint_project(
        LintRequest(tuple(map(str, paths)), all_rules(), ProjectSettings(), jobs=processes)
    )


def lint_table(run: LintRun) -> str:
    """Lay the counts out as text."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: LintRun) -> Iterator[str]:
    known = reference()
    hits = {rule.code: _hits(run, rule) for rule in run.rules}
    yield f"{'hits':>5} {'before':>9}  rule"
    for rule in run.rules:
        row = known.get(rule.code)
        before = "" if row is None else f"{row.hits}/{row.of}"
        lacking = rule.needs in (RuleNeed.TOKENIZER, RuleNeed.DIRECTORY)
        lacks = f" (needs {rule.needs.value})" if lacking else ""
        yield f"{hits[rule.code]:>5} {before:>9}  {rule.code} {rule.name}{lacks}"
        if row is not None and row.why:
            yield f"{'':>17}{row.why}"
    found = sum(len(each.findings) for each in run.templates)
    yield (
        f"{len(run.templates)} templates, {len(run.rules)} rules, {found} findings,"
        f" {len(run.problems)} problems"
    )
    for problem in run.problems:
        yield f"  {problem.path}: {problem.message}"


def _hits(run: LintRun, rule: Rule) -> int:
    """Count the templates in which the rule saw something, alone or merged into another."""
    return sum(
        any(rule.code in (finding.code, *finding.also) for finding in template.findings)
        for template in run.templates
    )
