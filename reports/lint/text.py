"""Findings for a person at a terminal: by template with evidence, a line each, or counted.

For example, `concise_report` has the line

    fixtures/lint/AP306/fires.jinja:6:13: AP306 [error] content beside a call is not in the prompt

and `excerpt_lines` shows column 6 of an indented line as

    2 | {{ b.c }}
      |    ^
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.core.documents import Count, JsonDocument, RuleCode
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.reports.blocks import (
    Block,
    Blocks,
    Fitted,
    Table,
    TableColumn,
    blank,
    compare_texts,
    difference,
    excerpt,
    prose,
    sentence,
)
from autoparser.reports.places import FilePlace, jinja_lines, place_text
from autoparser.reports.terminal import drawn_lines, joined_lines, next_line, report_text
from autoparser.reports.verdict import evidence_words
from autoparser.reports.visible import LEGEND, lines, marker_text, shell_word, visible

from .page import SEVERITY_STYLES, page_lines
from .words import (
    counts,
    line_place,
    message_words,
    notes,
    problem_place,
    problem_words,
    summary_words,
    template_title,
    unused_words,
)

if TYPE_CHECKING:
    from autoparser.analysis.lint.hit import HitEvidence, ShownText
    from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
    from autoparser.analysis.lint.linting import LintFinding
    from autoparser.analysis.lint.project_sources import InputProblem

INDENT = 4
NAMED = 3
"""The most files in the command that is offered next."""


def lint_report(
    run: LintRun,
    width: int,
    *,
    evidence: bool = False,
    explain: bool = False,
    quiet: bool = False,
) -> Text:
    """Report on a run in lines of at most `width` cells.

    `evidence` adds the texts that show each finding, `explain` each rule's page below the first of
    its findings. Templates without findings are only counted. `quiet` leaves out the notes and the
    summary.
    """
    writer = _Writer(evidence=evidence, explain=explain)
    drawn: Blocks = []
    for template in run.templates:
        # Templates without findings are many, and only counted.
        if template.findings or template.unused or template.unwritten:
            drawn += [*writer.template(template), *blank()]
    if run.problems:
        drawn += [*writer.problems(run.problems), *blank()]
    if evidence and any(finding.evidence for _, finding in run.findings):
        drawn += [*prose(Text(LEGEND, style="dim"), indent=0), *blank()]
    if quiet:
        # Without the empty line before the notes.
        return report_text(drawn[:-1], width)
    for words in notes(run):
        drawn += prose(f"{words}.", indent=0)
    drawn += prose(_summary(run), indent=0)
    return joined_lines([*drawn_lines(drawn, width), *_next_lines(run, width)])


def _next_lines(run: LintRun, width: int) -> Iterator[Text]:
    """Name the command that tries to fix the shown findings of a few templates."""
    editable = _editable(run)
    unsafe = all(finding.rule.never_safe for _, finding in editable)
    yield from fix_lines(editable, width, unsafe=unsafe)


def fix_lines(
    findings: Sequence[tuple[InspectedTemplate, LintFinding]], width: int, *, unsafe: bool
) -> Iterator[Text]:
    """Name the command that fixes the findings of a few templates."""
    codes = sorted({finding.code for _, finding in findings})
    paths = dict.fromkeys(shell_word(template.path) for template, _ in findings)
    # A command of more files is too long to read before it is run.
    if 0 < len(paths) <= NAMED:
        # Without the codes, `fix` would also edit findings that this run's options exclude.
        words = ["fix", *paths, "--select", ",".join(codes), *["--unsafe-fixes"] * unsafe]
        yield next_line(" ".join(words), width, 0)


def _editable(run: LintRun) -> list[tuple[InspectedTemplate, LintFinding]]:
    """Return the shown findings for which `fix` has edits to try, with their templates."""
    return [
        (template, finding)
        for template, finding in run.findings
        if finding.rule.fixable and not is_lost(template.template.source)
    ]


def is_lost(source: Provenance | None) -> bool:
    """Return whether no command can name a template: a pipe was read, an encoder has none."""
    return source is not None and source.kind in (SourceKind.STANDARD_INPUT, SourceKind.ENCODER)


def _summary(run: LintRun) -> Text:
    bad = run.failed or bool(run.problems)
    some = bool(counts(run))
    style = "bold red" if bad else "bold yellow" if some else "bold green"
    summary = Text(f"{summary_words(run)}.", style=style)
    editable = len(_editable(run))
    if not editable:
        return summary
    shown = sum(len(template.findings) for template in run.templates)
    # Whether an edit fixes a finding shows only in a trial, which takes seconds to minutes.
    all_of_them = "it" if shown == 1 else "them"
    tried = all_of_them if editable == shown else f"{editable} of them"
    return sentence(summary, (f" autoparser fix tries edits for {tried}.", "dim"))


def _place_link(template: InspectedTemplate, line: int | None, column: int | None = None) -> Text:
    """Return a clickable place, or the template's line if it is not a line of the file."""
    place = line_place(template, line, column)
    if place is None:
        return Text("" if line is None else f"line {line}: ")
    return sentence(place_text(place), ": ")


@dataclass(slots=True)
class _Writer:
    evidence: bool
    """Whether the texts of each finding are shown, as with `--show-evidence`."""
    explain: bool
    """Whether rules' pages are shown, as with `--explain`."""
    explained: set[str] = field(default_factory=set[str])
    """Codes of rules whose pages have already been shown, e.g. `{"AP306"}`."""

    def template(self, template: InspectedTemplate) -> Iterator[Block]:
        yield from prose(Text(template_title(template), style="bold underline"), indent=0)
        for finding in template.findings:
            yield from self.finding(template, finding)
        for ignore in template.unused:
            place = _place_link(template, ignore.line)
            words = sentence(("note ", "dim"), place, unused_words(ignore))
            yield from prose(words, hang=2)
        # Renders are the usual evidence; parts known by any other are less certain.
        shown = [part for part in template.evidence if part[1] is not EvidenceKind.RENDER]
        if shown:
            words = sentence(("note ", "dim"), f"not from renders: {evidence_words(shown)}")
            yield from prose(words, hang=2)
        if template.unwritten:
            # Imported here: few templates have such tokens, and the module imports the analysis.
            from autoparser.reports.findings import unwritten_words  # noqa: PLC0415

            token_words = unwritten_words(shell_word(template.path), template.unwritten)
            yield from prose(sentence(("note ", "dim"), token_words), hang=2)

    def finding(self, template: InspectedTemplate, finding: LintFinding) -> Iterator[Block]:
        """Show one finding: head, place, excerpt, fix, other rules, engines, evidence."""
        style = SEVERITY_STYLES[finding.severity]
        head = sentence(
            (f"{finding.severity.value} {finding.code} ", style), (finding.rule.name, "bold")
        )
        if finding.confidence.value != "high":
            head.append(f" ({finding.confidence.value} confidence)", style="dim")
        yield from prose(head, hang=2)
        finding_words = sentence(
            _place_link(template, finding.line, finding.column), visible(finding.message)
        )
        yield from prose(finding_words, INDENT)
        yield from excerpt_lines(template.text, finding.line, INDENT, finding.column)
        if finding.fix:
            fix = sentence(("fix: ", "green"), visible(finding.fix))
            yield from prose(fix, INDENT, hang=5)
        if finding.also:
            also = f"also reported by {', '.join(finding.also)}"
            yield from prose(Text(also, style="dim"), INDENT)
        for words in finding.hit.engines:
            asked = sentence(("tested: ", "dim"), visible(words))
            yield from prose(asked, INDENT, hang=8)
        if self.evidence:
            for evidence in finding.evidence:
                yield from evidence_lines(evidence, INDENT + 2)
        if self.explain:
            yield from self.page(finding)

    def page(self, finding: LintFinding) -> Iterable[Block]:
        if finding.code in self.explained:
            return prose(Text(f"{finding.code} is explained above", style="dim"), INDENT)
        self.explained.add(finding.code)
        return page_lines(finding.rule, INDENT)

    def problems(self, problems: tuple[InputProblem, ...]) -> Iterator[Block]:
        yield from prose(Text("Problems", style="bold underline"), indent=0)
        for problem in problems:
            place, path = problem_place(problem), Text(visible(problem.path), style="bold")
            shown = path if place is None else place_text(place)
            words = sentence(shown, f": {problem_words(problem)}")
            yield from prose(words, hang=2)


HEAD, TAIL = 160, 480
"""Characters shown of a text alone: its beginning and its end, where the fault usually is."""


def evidence_lines(evidence: HitEvidence, indent: int) -> Blocks:
    """Draw evidence with visible whitespace; of two texts only the differences."""
    one, other = evidence.one, evidence.other
    if other is None:
        return [*prose(_label("", one), indent, hang=2), *_alone(one, indent)]
    drawn = [
        *prose(_label("- ", one), indent, hang=2),
        *prose(_label("+ ", other), indent, hang=2),
    ]
    if one.error or other.error:
        for shown in (one, other):
            drawn += _alone(shown, indent)
        return drawn
    # If both renders are equal, the messages differ.
    if one.text == other.text:
        messages, other_messages = _messages_text(one), _messages_text(other)
        if messages != other_messages:
            drawn += difference(compare_texts(messages, other_messages), indent)
        drawn += prose(Text("both render identically:", style="dim"), indent)
        return [*drawn, *_alone(one, indent)]
    origins = (one.origins, other.origins) if one.origins and other.origins else None
    return [*drawn, *difference(compare_texts(one.text, other.text), indent, origins)]


def _messages_text(shown_text: ShownText) -> str:
    """Return the conversation as JSON, a message per line; empty without messages."""
    return "".join(
        f"{json.dumps(message, ensure_ascii=False)}\n" for message in shown_text.messages
    )


def _label(sign: str, shown_text: ShownText) -> Text:
    words = Text(f"{sign}{visible(shown_text.label)}", style="bold")
    if shown_text.messages:
        roles = [str(message.get("role", "?")) for message in shown_text.messages]
        words.append(f" ({visible(', '.join(roles))})", style="dim")
    return words


def _alone(shown_text: ShownText, indent: int) -> Blocks:
    if shown_text.error:
        return prose(Text(f"raises: {visible(shown_text.error)}", style="red"), indent + 2)
    return excerpt(_text_lines(shown_text.text), indent + 2)


def _text_lines(text: str) -> Iterator[Text]:
    """Return the lines of a text shown alone; a long one is reduced to its beginning and end."""
    if not text:
        yield Text("(nothing)", style="dim italic")
    elif len(text) <= HEAD + TAIL:
        yield from lines(text)
    else:
        yield from lines(text[:HEAD])
        yield Text(f"… {len(text) - HEAD - TAIL} more characters", style="dim italic")
        yield from lines(text[-TAIL:])


def excerpt_lines(text: str, line: int | None, indent: int, column: int | None = None) -> Blocks:
    """Draw a line (from 1) after its number, cut at the width; nothing if there is no such line.

    A caret marks the `column` if it is given; a long line is cut around it.
    """
    lines = jinja_lines(text)
    if line is None or not 1 <= line <= len(lines):
        return []
    number = f"{' ' * indent}{line} | "
    written = lines[line - 1]
    content = Text(marker_text(written.strip()), style="cyan")
    before = 0 if column is None else cell_len(marker_text(written[: column - 1].lstrip()))

    def cut_at(width: int) -> Blocks:
        # One cell is for the ellipsis.
        room = max(width - cell_len(number) - 1, 10)
        cut = 0
        if before >= room * 2 // 3 and content.cell_len > room:
            # The cells of a character vary, so that the cut is searched.
            shown = range(len(content.plain) + 1)
            left_out = before - room // 2
            cut = bisect_left(shown, left_out, key=lambda end: cell_len(content.plain[:end]))
        less = "…" if cut else ""
        kept = content[cut:]
        more = "…" if kept.cell_len > room - len(less) else ""
        kept.truncate(room - len(less), overflow="crop")
        drawn = [sentence((number, "dim"), (less, "dim"), kept, (more, "dim"))]
        if column is not None:
            shift = len(less) + before - content[:cut].cell_len
            margin = f"{' ' * (cell_len(number) - 2)}| {' ' * shift}"
            drawn.append(sentence((margin, "dim"), ("^", "bold red")))
        return excerpt(drawn, broken=False)

    return [Fitted(cut_at)]


def concise_report(run: LintRun, *, quiet: bool = False) -> str:
    """Return ``file:line:column: AP301 [error] message`` for each finding.

    Unknown lines are given as line 1. `quiet` leaves out the notes and the summary.
    """
    lines = [*_finding_lines(run), *([] if quiet else [*notes(run), summary_words(run)])]
    return "".join(f"{line}\n" for line in lines)


def _finding_lines(run: LintRun) -> Iterator[str]:
    for template in run.templates:
        first = FilePlace(template.path, 1)
        for finding in template.findings:
            # Editors read a place in every line of this form.
            place = line_place(template, finding.line, finding.column) or first
            words = message_words(template, finding)
            yield f"{place}: {finding.code} [{finding.severity}] {words}"
        for ignore in template.unused:
            place = line_place(template, ignore.line) or first
            yield f"{place}: [note] {unused_words(ignore)}"
    for problem in run.problems:
        place = FilePlace(problem.path, problem.line or 1)
        yield f"{place}: [problem] {problem_words(problem)}"


class StatisticDocument(JsonDocument, frozen=True):
    """The findings of one rule."""

    code: RuleCode
    """The rule, e.g. `"AP314"`."""
    name: str
    """The rule's name, e.g. `"later-system-message-dropped"`."""
    findings: Count
    """Number of its findings, e.g. `2`."""
    templates: Count
    """Number of templates with at least one, e.g. `2`."""
    merged: Count
    """Findings of other rules with the same cause, merged into this rule's, e.g. `0`."""


def count_findings(run: LintRun) -> list[StatisticDocument]:
    """Count the findings of each rule, the most frequent first, then by code."""
    findings, templates, merged = Counter[str](), Counter[str](), Counter[str]()
    for template in run.templates:
        codes = [finding.code for finding in template.findings]
        findings.update(codes)
        templates.update({*codes})
        merged.update(code for finding in template.findings for code in finding.also)
    rows = [
        StatisticDocument(
            rule.code, rule.name, findings[rule.code], templates[rule.code], merged[rule.code]
        )
        for rule in run.rules
        if rule.code in findings or rule.code in merged
    ]
    return sorted(rows, key=lambda row: (-row.templates, row.code))


def statistics_report(run: LintRun, width: int) -> Text:
    """Return a table in lines of at most `width` cells, and the summary."""
    styles = {rule.code: SEVERITY_STYLES[rule.severity] for rule in run.rules}
    counts = tuple(
        (
            Text(str(rule_count.findings)),
            Text(str(rule_count.templates)),
            Text(str(rule_count.merged or "")),
            sentence((rule_count.code, styles[rule_count.code]), f" {rule_count.name}"),
        )
        for rule_count in count_findings(run)
    )
    drawn: Blocks = [Table(_COLUMNS, counts, head="bold")] if counts else []
    for words in (*notes(run), f"{summary_words(run)}."):
        drawn += prose(words, indent=0)
    return report_text(drawn, width)


_COLUMNS = (
    TableColumn("found", 5, right=True, gap=1),
    TableColumn("templates", 9, right=True, gap=1),
    TableColumn("merged", 6, right=True),
    TableColumn("rule"),
)
