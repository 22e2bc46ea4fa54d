"""What was fixed in templates, how it was proven, and what stays and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from autoparser.analysis.editing.lint_fixes import FindingFix, FixRun, FixTarget
from autoparser.analysis.lint.project_sources import InputProblem

from .blocks import Blocks, heading, prose, rows, sentence
from .lint import problem_words
from .preserving import example_lines, proof_words, template_diff
from .terminal import report_text
from .visible import visible

__all__ = ["fix_diff", "fix_report"]


def fix_diff(run: FixRun) -> str:
    """Return a unified diff of all templates that were changed; empty where none was."""
    return "".join(
        template_diff(each.fixed.original, each.fixed.template) for each in run.templates
    )


def fix_report(
    run: FixRun, width: int, *, written: bool, unwritten: Sequence[InputProblem] = ()
) -> Text:
    """Report of each template what was fixed and what not."""
    drawn: Blocks = []
    for each in run.templates:
        if each.fixed.fixes:
            drawn += _template(each)
    for problem in (*run.problems, *unwritten):
        drawn += prose(visible(f"{problem.path}: {problem_words(problem)}"), indent=0)
    for words in _summary(run, written=written, unwritten=len(unwritten)):
        drawn += prose(words, indent=0)
    return report_text(drawn, width, first_gap=False)


def _template(target: FixTarget) -> Blocks:
    path, name = target.inspected.path, target.inspected.name
    drawn = heading(visible(path if name is None else f"{path} ({name})"))
    for fix in target.fixed.fixes:
        sign, style = ("fixed", "green") if fix.reason is None else ("stays", "yellow")
        head = sentence((sign, style), f" {fix.finding.code} ", (fix.finding.rule.name, "bold"))
        if fix.hidden:
            head.append(" (an unsafe fix is there)", style="dim")
        drawn += prose(head)
        drawn += rows([*_facts(fix)], indent=4)
        for each in () if fix.proof is None else fix.proof.examples:
            drawn += example_lines(each)
    return drawn


def _facts(fix: FindingFix) -> Iterable[tuple[str, Text]]:
    yield "finding", Text(visible(fix.finding.message))
    if fix.why:
        yield "why", Text(f"{fix.why}; {fix.tried} were tried" if fix.tried else fix.why)
    proof = fix.proof
    if proof is None:
        if fix.reason is None:
            yield "edits", Text("none of its own: it went with another")
        return
    yield "edits", Text(f"{len(fix.edits)}; {fix.tried} were tried")
    yield "proven", Text(f"{proof_words(proof)} No rule finds anything new.")
    if proof.beyond:
        words = f"no finding that is shown calls {proof.beyond} of the {proof.changed} wrong"
        yield "unsafe", Text(words)
    if proof.spoiled:
        words = f"{proof.spoiled} of the {proof.changed} raised, and are rendered as nobody means"
        yield "unsafe", Text(words)


def _summary(run: FixRun, *, written: bool, unwritten: int) -> Iterable[str]:
    fixes = run.fixes
    fixed = sum(fix.reason is None for fix in fixes)
    many = sum(each.fixed.changed for each in run.templates) - unwritten
    if run.problems:
        yield f"Not finished: {_count(len(run.problems), 'problem')}, see above."
    if not fixes:
        if run.templates or not run.problems:
            yield f"Nothing to fix in {_count(len(run.templates), 'template')}."
        return
    done = "changed" if written else "would change"
    left = f", {unwritten} not written" if unwritten else ""
    told = f"{_count(many, 'template')} {done}{left}"
    words = f"{fixed} of {_count(len(fixes), 'finding')} fixed: {told}."
    yield words if written or not many else f"{words} --write changes the files."
    hidden = sum(fix.hidden for fix in fixes)
    if hidden:
        fix = "fix" if hidden == 1 else "fixes"
        yield f"{hidden} hidden {fix} can be enabled with --unsafe-fixes."


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
