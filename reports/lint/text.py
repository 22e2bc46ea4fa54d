"""Findings for a person at a terminal: grouped by template, each with its line and its fix."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.text import Text

from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.reports.blocks import Blocks, blank, prose, sentence
from autoparser.reports.evidence_words import evidence_words
from autoparser.reports.places import FilePlace, place_text
from autoparser.reports.terminal import report_text
from autoparser.reports.token_suggestions import unwritten_words
from autoparser.reports.visible import LEGEND, visible

from .evidence import evidence_lines
from .excerpt import excerpt_lines
from .finding_words import (
    counts,
    line_place,
    notes,
    problem_words,
    summary_words,
    template_title,
    unused_words,
)
from .page import page_lines
from .styles import SEVERITY_STYLES

__all__ = ["lint_report"]

INDENT = 4


def lint_report(run: LintRun, width: int, *, evidence: bool = False, explain: bool = False) -> Text:
    """Report on a run in lines of at most ``width`` cells.

    ``evidence`` adds the texts that show each finding, ``explain`` each rule's page below the
    first of its findings. Templates of which there is nothing to say are only counted.
    """
    writer = _Writer(run, evidence=evidence, explain=explain)
    drawn: Blocks = []
    for template in run.templates:
        if template.findings or template.unused or template.unwritten:
            drawn += [*writer.template(template), *blank()]
    if run.problems:
        drawn += [*writer.problems(run.problems), *blank()]
    if evidence and any(finding.evidence for _, finding in run.findings):
        drawn += [*prose(Text(LEGEND, style="dim"), indent=0), *blank()]
    for words in notes(run):
        drawn += prose(f"{words}.", indent=0)
    drawn += prose(_summary(run), indent=0)
    return report_text(drawn, width)


def _summary(run: LintRun) -> Text:
    bad = run.failed or bool(run.problems)
    some = bool(counts(run))
    style = "bold red" if bad else "bold yellow" if some else "bold green"
    return Text(f"{summary_words(run)}.", style=style)


def _place(template: InspectedTemplate, line: int | None) -> Text:
    """Return a place to click at; the template's line alone where it is not one of the file."""
    place = line_place(template, line)
    if place is None:
        return Text("" if line is None else f"line {line}: ")
    return sentence(place_text(place), ": ")


@dataclass(slots=True)
class _Writer:
    run: LintRun
    evidence: bool
    explain: bool
    explained: set[str] = field(default_factory=set[str])
    """Codes whose pages stand above."""

    def template(self, template: InspectedTemplate) -> Blocks:
        drawn = prose(Text(template_title(template), style="bold underline"), indent=0)
        for finding in template.findings:
            drawn += self.finding(template, finding)
        for ignore in template.unused:
            place = _place(template, ignore.line)
            words = sentence(("note ", "dim"), place, unused_words(ignore))
            drawn += prose(words, hang=2)
        shown = [each for each in template.evidence if each[1] is not EvidenceKind.RENDER]
        if shown:
            words = sentence(("note ", "dim"), f"not from renders: {evidence_words(shown)}")
            drawn += prose(words, hang=2)
        if template.unwritten:
            told = unwritten_words(template.path, template.unwritten)
            drawn += prose(sentence(("note ", "dim"), told), hang=2)
        return drawn

    def finding(self, template: InspectedTemplate, finding: LintFinding) -> Blocks:
        style = SEVERITY_STYLES[finding.severity]
        head = sentence(
            (f"{finding.severity.value} {finding.code} ", style), (finding.rule.name, "bold")
        )
        if finding.confidence.value != "high":
            head.append(f" ({finding.confidence.value} confidence)", style="dim")
        drawn = prose(head, hang=2)
        told = sentence(_place(template, finding.line), visible(finding.message))
        drawn += prose(told, INDENT)
        drawn += excerpt_lines(template.text, finding.line, INDENT)
        if finding.fix:
            fix = sentence(("fix: ", "green"), visible(finding.fix))
            drawn += prose(fix, INDENT, hang=5)
        if finding.also:
            also = f"also seen by {', '.join(finding.also)}"
            drawn += prose(Text(also, style="dim"), INDENT)
        for words in finding.hit.engines:
            asked = sentence(("asked: ", "dim"), visible(words))
            drawn += prose(asked, INDENT, hang=7)
        if self.evidence:
            for each in finding.evidence:
                drawn += evidence_lines(each, INDENT + 2)
        if self.explain:
            drawn += self.page(finding)
        return drawn

    def page(self, finding: LintFinding) -> Blocks:
        if finding.code in self.explained:
            return prose(Text(f"{finding.code} is explained above", style="dim"), INDENT)
        self.explained.add(finding.code)
        return page_lines(finding.rule, INDENT)

    def problems(self, problems: tuple[InputProblem, ...]) -> Blocks:
        drawn = prose(Text("Problems", style="bold underline"), indent=0)
        for each in problems:
            place = Text(visible(each.path), style="bold")
            if each.line is not None:
                place = place_text(FilePlace(each.path, each.line))
            words = sentence(place, f": {problem_words(each)}")
            drawn += prose(words, hang=2)
        return drawn
