"""A run in Markdown: as a comment on a pull request, and as a badge and a table for a model card.

A comment is a table, with the evidence in folded details. Badge and table name the inputs and the
version, so that a reader can reproduce them.

Text of a template cannot leave its cell or its block, is not HTML, and does not mention, link to or
notify anybody: see `reports.markdown.plain`. For example,

    code_cell("a|b `c`")  ->  <code>a&#124;b &#96;c&#96;</code>
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.reports.markdown import markdown_lines, plain
from autoparser.reports.visible import counted_noun, visible

from .text import evidence_lines
from .words import (
    counts,
    message_words,
    notes,
    problem_words,
    summary_words,
    template_title,
    unused_words,
)

LONGEST = 60_000
"""Characters of a comment; GitHub refuses more than 65,536."""

_SIGNS = {Severity.ERROR: "🔴 error", Severity.WARNING: "🟡 warning", Severity.INFO: "🔵 info"}


def markdown_report(run: LintRun) -> str:
    """Return Markdown of at most `LONGEST` characters; findings that do not fit are counted."""
    rows, details = [*_finding_rows(run)], [*_details(run)]
    head = f"### autoparser lint: {plain(summary_words(run))}\n"
    title = "\n| severity | rule | where | what happens |\n|---|---|---|---|\n"
    tail = "".join(f"\n{plain(note)}.\n" for note in notes(run))
    room = LONGEST - len(head) - len(title) - len(tail)
    # Keep room for the evidence of the most severe findings, even if rows of minor ones are cut.
    whole = sum(map(len, rows))
    share = room * 2 // 3 if details and whole + sum(map(len, details)) > room else room
    kept, left = _fitting(rows, share)
    room -= share - left
    text = head
    if rows:
        text += title + "".join(kept) + _omission_line(len(rows) - len(kept), "more row")
    shown, _ = _fitting(details, room)
    text += "".join(shown)
    text += _omission_line(len(details) - len(shown), "more finding", "with evidence not shown")
    return text + tail


def _fitting(pieces: list[str], room: int) -> tuple[list[str], int]:
    kept: list[str] = []
    for piece in pieces:
        # Keep some room for the lines that count the omitted pieces.
        if len(piece) > room - 200:
            break
        room -= len(piece)
        kept.append(piece)
    return kept, room


def _omission_line(count: int, what: str, more: str = "") -> str:
    words = f"{what}{'s' * (count != 1)} {more}".rstrip()
    return f"\n… and {count} {words}.\n" if count else ""


def _by_weight(run: LintRun) -> Iterator[tuple[InspectedTemplate, LintFinding]]:
    """Return the findings, the most severe first: those that do not fit are at the end."""
    for severity in Severity:
        yield from (finding for finding in run.findings if finding[1].severity is severity)


def _finding_rows(run: LintRun) -> Iterator[str]:
    # Problems first: with them, the findings are incomplete.
    for problem in run.problems:
        line = "" if problem.line is None else f":{problem.line}"
        place = code_cell(f"{problem.path}{line}")
        yield table_row("⛔ problem", "", place, plain(problem_words(problem)))
    for template, finding in _by_weight(run):
        fix = f"<br>Fix: {plain(finding.fix)}" if finding.fix else ""
        rule = f"`{finding.code}` {finding.rule.name}"
        what = f"{plain(message_words(template, finding))}{fix}"
        yield table_row(_SIGNS[finding.severity], rule, _place_cell(template, finding.line), what)
    for template in run.templates:
        for ignore in template.unused:
            what = plain(unused_words(ignore))
            yield table_row("note", "unused ignore", _place_cell(template, ignore.line), what)


def table_row(*cells: str) -> str:
    """Return a row of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |\n"


def _place_cell(template: InspectedTemplate, line: int | None) -> str:
    in_file = template.line_in_file(line)
    return code_cell(f"{template.path}{'' if in_file is None else f':{in_file}'}")


def _details(run: LintRun) -> Iterator[str]:
    for template, finding in _by_weight(run):
        if finding.evidence:
            yield "\n".join(_detail(template, finding)) + "\n"


def _detail(template: InspectedTemplate, finding: LintFinding) -> Iterator[str]:
    title = code_cell(f"{finding.code} {template_title(template)}: {visible(finding.message)}")
    yield ""
    yield f"<details><summary>{title}</summary>"
    for evidence in finding.evidence:
        yield from markdown_lines(evidence_lines(evidence, 0))
    yield ""
    yield "</details>"


def code_cell(text: str) -> str:
    """Return a code span as HTML, in which every character is escaped by `_html` alone."""
    return f"<code>{_html(visible(text))}</code>"


def _html(text: str) -> str:
    """Escape for HTML within Markdown: no markup of either remains."""
    # All but a few signs, since both languages have many that mean something.
    return re.sub(r"[^\w ./:,;=%'\"-]|_", lambda match: f"&#{ord(match.group())};", text)


LABEL = "chat template"
_COLORS = {"": "#2c7a3f", "info": "#2c7a3f", "warning": "#8a6100", "error": "#b3261e"}
"""Colors of the right half, by the worst severity; white on each has a contrast above 4.5."""
_CELL, _MARGIN = 7, 6
"""Pixels of a character of the font, and of the margin at each end of a half."""


def badge_image(run: LintRun) -> str:
    """Return an SVG badge with the number of findings by severity."""
    # Severities are declared from the most severe on.
    weightiest = next((severity.value for severity in Severity if run.count(severity)), "")
    words = counts(run) or "no finding"
    # The findings in the other files alone would look like a verdict on all inputs.
    if run.problems:
        weightiest, words = "error", "not checked"
    left, right = (len(text) * _CELL + 2 * _MARGIN for text in (LABEL, words))
    title = escape(f"{LABEL}: {words}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="{_COLORS[weightiest]}"/>'
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif"'
        f' font-size="11"><text x="{left / 2:g}" y="14">{LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(words)}</text></g></svg>\n'
    )


def card_table(run: LintRun, version: str) -> str:
    """Return a Markdown table: findings by severity and their rules, a row for each template.

    A last line names the profile and the version.
    """
    rows = [table_row("template", *(severity.value for severity in Severity), "rules")]
    rows += [table_row(*["---"] * (len(Severity) + 2))]
    rows += [_template_row(template) for template in run.templates]
    rows += [table_row(code_cell(problem.path), "not checked") for problem in run.problems]
    looked = counted_noun(len(run.rules), "rule")
    return (
        "".join(rows) + f"\nautoparser {version}, profile {run.finding_filter.profile}, {looked}.\n"
    )


def _template_row(template: InspectedTemplate) -> str:
    weights = Counter(finding.severity for finding in template.findings)
    # A model card needs each rule once, however often it was found.
    rules = dict.fromkeys(f"{finding.code} {finding.rule.name}" for finding in template.findings)
    numbers = (str(weights[severity]) for severity in Severity)
    return table_row(code_cell(template_title(template)), *numbers, ", ".join(rules) or "none")
