"""Words shared by several forms of a lint report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.reports.places import FilePlace, place_in_line
from autoparser.reports.visible import counted_noun, visible

if TYPE_CHECKING:
    from autoparser.analysis.lint.baselines import Ignore
    from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
    from autoparser.analysis.lint.linting import LintFinding
    from autoparser.analysis.lint.project_sources import InputProblem


def template_title(template: InspectedTemplate) -> str:
    """Name a template by its file, and by its name if the source has several."""
    named = f" ({visible(template.name)})" if template.name is not None else ""
    return f"{visible(template.path)}{named}"


def line_place(
    template: InspectedTemplate, line: int | None, column: int | None = None
) -> FilePlace | None:
    """Return a place of a template in its file, or None if its line is not a line of the file."""
    in_file = template.line_in_file(line)
    return None if in_file is None else place_in_line(template.path, in_file, template.text, column)


def problem_place(problem: InputProblem) -> FilePlace | None:
    """Return the place of a problem in its file, or None without a line."""
    return None if problem.line is None else FilePlace(problem.path, problem.line)


def message_words(template: InspectedTemplate, finding: LintFinding) -> str:
    """Return a finding's message, with the template's line if it is not a line of the file."""
    line = "" if template.in_lines or finding.line is None else f" (template line {finding.line})"
    name = f"{visible(template.name)}: " if template.name is not None else ""
    return f"{name}{visible(finding.message)}{line}"


def problem_words(problem: InputProblem) -> str:
    """Return a problem in one line, without its path and line."""
    place = f"{visible(problem.place)}: " if problem.place else ""
    hint = f"; {visible(problem.hint)}" if problem.hint else ""
    return f"{place}{visible(problem.message)}{hint}"


def unused_words(ignore: Ignore) -> str:
    """Report an ignore comment that is no longer needed."""
    selectors = ", ".join(map(visible, ignore.selectors))
    return f"unused ignore of {selectors}: it matches no finding, so remove the comment"


def counts(run: LintRun) -> str:
    """Count the findings by severity, such as ``1 error, 2 warnings``; empty without any."""
    found = [(run.count(severity), severity) for severity in Severity]
    return ", ".join(
        f"{count} info" if severity is Severity.INFO else counted_noun(count, severity.value)
        for count, severity in found
        if count
    )


def summary_words(run: LintRun) -> str:
    """Summarize a run in one sentence, without a full stop."""
    total = sum(len(template.findings) for template in run.templates)
    found = f"{counted_noun(total, 'finding')}: {counts(run)}" if total else "no finding"
    aside = [
        f"{count} {words}"
        for count, words in (
            (sum(len(template.baseline_findings) for template in run.templates), "in the baseline"),
            (sum(len(template.ignored) for template in run.templates), "ignored"),
        )
        if count
    ]
    if aside:
        found += f"; {', '.join(aside)}"
    if run.problems:
        found += f"; {counted_noun(len(run.problems), 'problem')}"
    return f"{counted_noun(len(run.templates), 'template')}, {found}"


def folded_words(run: LintRun) -> str:
    """Return the findings hidden by the profile, on one line; empty if none are."""
    folded = [finding for template in run.templates for finding in template.folded]
    if not folded:
        return ""
    # Conventions are named by rule, since most templates have the same few.
    usual = sorted({finding.code for finding in folded if finding.rule.convention})
    of_usual = sum(finding.rule.convention for finding in folded)
    others = [finding.severity for finding in folded if not finding.rule.convention]
    info = all(severity is Severity.INFO for severity in others)
    rest = "of severity info" if info else "other" if len(others) == 1 else "others"
    parts = (
        [f"{counted_noun(of_usual, 'common convention')} ({', '.join(usual)})"] if of_usual else []
    )
    parts += [f"{len(others)} {rest}"] if others and (parts or info) else []
    listed = f": {', '.join(parts)}" if parts else ""
    chosen = run.finding_filter
    # The run's --min-severity would hide some of them under every profile.
    lower = " --min-severity info" if chosen.min_severity is not Severity.INFO else ""
    return (
        f"{counted_noun(len(folded), 'finding')} hidden by the profile {chosen.profile}{listed};"
        f" --profile strict{lower} shows {'it' if len(folded) == 1 else 'them'}"
    )


def notes(run: LintRun) -> Iterator[str]:
    """Return further remarks on a run."""
    if folded := folded_words(run):
        yield folded
    for problem in run.left_out:
        yield f"left out: {visible(problem.path)}: {visible(problem.message)}"
    for pattern in run.unmatched:
        yield f"per-file-ignores: the pattern '{visible(pattern)}' matches no template"
    if run.vanished:
        yield (
            f"{counted_noun(run.vanished, 'entry')} of the baseline"
            f" {'matches' if run.vanished == 1 else 'match'} no finding:"
            f" --write-baseline removes {'it' if run.vanished == 1 else 'them'}"
        )
    # One cause, such as a tokenizer that cannot be loaded, has the same remark on each template.
    for remark in dict.fromkeys(
        remark for template in run.templates for remark in template.remarks
    ):
        yield visible(remark)
    left_out: list[str] = []
    for need, hint in _HINTS.items():
        rules_by_template = [
            {rule.code for rule, missing in template.left_out if missing is need}
            for template in run.templates
        ]
        # A rule counts once, however many templates lack its need.
        lacking = [codes for codes in rules_by_template if codes]
        if lacking:
            rules = len(frozenset[str]().union(*lacking))
            at = f" at {counted_noun(len(lacking), 'template')}" if len(run.templates) > 1 else ""
            verb = "needs" if rules == 1 else "need"
            left_out.append(f"{counted_noun(rules, 'rule')} {verb} {hint}{at}")
    if left_out:
        yield f"Skipped: {', '.join(left_out)}"


_HINTS = {
    RuleNeed.ANALYSIS: "a template that can be analyzed (autoparser analyze shows the error)",
    RuleNeed.TOKENIZER: "--tokenizer",
    RuleNeed.DIRECTORY: "a model directory instead of a file",
    RuleNeed.OTHER_JINJAS: "--engines",
}
"""Ways to provide a rule's requirements; the others depend on the template alone."""
