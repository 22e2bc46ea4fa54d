"""What was fixed in templates, how it was proven, and what stays and why."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from autoparser.analysis.fixing import FindingFix, FixRun, FixTarget
from autoparser.analysis.lint.project import Problem

from .layout import Lines, heading, prose, report_text, rows, sentence
from .preserving import template_diff
from .visible import visible

__all__ = ["fix_diff", "fix_report"]


def fix_diff(run: FixRun) -> str:
    """Return a unified diff of all templates that were changed; empty where none was."""
    return "".join(
        template_diff(each.fixed.original, each.fixed.template) for each in run.templates
    )


def fix_report(run: FixRun, width: int, *, written: bool) -> Text:
    """Say of each template what was fixed and what not."""
    drawn: Lines = []
    for each in run.templates:
        if each.fixed.fixes:
            drawn += _template(each, width)
    for problem in run.problems:
        drawn += prose(_problem(problem), width, indent=0)
    drawn += prose(_summary(run, written=written), width, indent=0)
    if drawn and not drawn[0].plain:
        del drawn[0]
    return report_text(drawn)


def _template(target: FixTarget, width: int) -> Lines:
    name = target.path if target.name is None else f"{target.path} ({target.name})"
    drawn = heading(visible(name), width)
    for fix in target.fixed.fixes:
        sign, style = ("fixed", "green") if fix.proof is not None else ("stays", "yellow")
        head = sentence((sign, style), f" {fix.finding.code} ", (fix.finding.rule.name, "bold"))
        drawn += prose(head, width)
        drawn += rows([*_facts(fix)], width, indent=4)
    return drawn


def _facts(fix: FindingFix) -> Iterable[tuple[str, Text]]:
    yield "finding", Text(visible(fix.finding.message))
    if fix.proof is None:
        yield "why", Text(f"{fix.reason}; {fix.tried} were tried")
        return
    proof = fix.proof
    yield "edits", Text(f"{len(fix.edits)}, of {fix.tried} that were tried")
    yield (
        "proven",
        Text(
            f"{proof.conversations - proof.changed} conversations are rendered to the same text;"
            f" {proof.changed} are not, and in each of them less is wrong than before; no rule"
            " finds anything new"
        ),
    )


def _problem(problem: Problem) -> str:
    hint = f"; {problem.hint}" if problem.hint else ""
    place = f"line {problem.line}" if problem.line else problem.place
    return visible(
        ": ".join(each for each in (problem.path, place, problem.message) if each) + hint
    )


def _summary(run: FixRun, *, written: bool) -> str:
    fixes = [fix for each in run.templates for fix in each.fixed.fixes]
    fixed = sum(fix.proof is not None for fix in fixes)
    many = sum(each.fixed.changed for each in run.templates)
    if not fixes:
        return f"Nothing to fix in {_count(len(run.templates), 'template')}."
    done = "changed" if written else "would change"
    words = f"{fixed} of {_count(len(fixes), 'finding')} fixed: {_count(many, 'template')} {done}."
    return words if written or not many else f"{words} --write changes the files."


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
