"""Faults of a template that the analysis itself shows, without further renders.

The linter's rules check far more; their renders take longer than the analysis.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.core.verdicts import Check, TemplateCrash
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import LintFinding

from .blocks import Blocks, Row, heading, joined, prose, rows, sentence
from .places import place_in_line, place_text
from .summary import LIMIT_WORDS
from .terminal import report_text
from .verdict import LOST_ARGUMENTS, LOST_CALLS, failure_reason, gate_fault_words, spoiled_words
from .visible import UNCONFIRMED, number_of, setting_words, some_of, visible


class FindingLevel(IntEnum):
    """The severity, in the linter's words; the most severe first."""

    ERROR = 0
    WARNING = 1
    INFO = 2

    @property
    def word(self) -> str:
        """Return the name of the level."""
        return self.name.lower()


class OwnFinding(Struct, frozen=True):
    """A fault, and its place as far as known."""

    level: FindingLevel
    words: str
    """The fault, e.g. `parallel calls: only the first is rendered`."""
    line: int | None = None
    """The template's line, from 1."""
    fix: str | None = None
    """Options of `autoparser fix` that may fix it, or None if no edits are known."""


def own_findings(learned: LearnedFormat) -> Sequence[OwnFinding]:
    """Return the faults that the verdicts and the format show, the most severe first."""
    return sorted(_each_finding(learned), key=lambda finding: finding.level)


def _each_finding(learned: LearnedFormat) -> Iterator[OwnFinding]:
    error, warning, info = FindingLevel
    for format_, check in zip(learned.formats, learned.checks, strict=True):
        under = setting_words(format_.setting) if len(learned.formats) > 1 else ""
        yield from _check_findings(check, f" with {under}" if under else "")
    # Once for each form, though the check of every setting has it.
    spoiled = {form.usual: form for check in learned.checks for form in check.forms if not form.ok}
    for form in spoiled.values():
        yield OwnFinding(error, spoiled_words(form))
    gate = learned.gate
    # Losses in OpenAI-style messages are reported above.
    if not gate.own_form_ok or not (gate.ok or spoiled):
        yield OwnFinding(error, f"{gate_fault_words(gate)}: {visible(gate.faults[0].detail)}")
    united = learned.formats.united
    # None is unknown. A model whose reasoning is dropped there loses its plan between calls.
    if united.retention.tool_loop is False:
        words = "reasoning before a call is dropped after the call's result"
        yield OwnFinding(error, words, fix="")
    calls = united.calls
    if calls is not None and calls.limit in LOST_CALLS:
        yield OwnFinding(warning, f"parallel calls: {LIMIT_WORDS[calls.limit]}")
    texts = learned.string_arguments
    if texts is not None and texts in LOST_ARGUMENTS:
        encoded = texts is StringArguments.ENCODED_TWICE
        yield OwnFinding(warning, LOST_ARGUMENTS[texts], fix=" --select AP503" if encoded else None)
    for part in united.unconfirmed:
        yield OwnFinding(warning, f"{part.value} {UNCONFIRMED}")
    if learned.stand_ins:
        names = ", ".join(sorted(learned.stand_ins))
        yield OwnFinding(info, f"{names}: unknown without the tokenizer, shown as its name")


def _check_findings(check: Check, under: str) -> Iterator[OwnFinding]:
    forbidden = check.forbidden
    if forbidden is not None:
        yield _crashing(forbidden, f"transformers' sandbox rejects the template{under}")
    for crash in check.crashes:
        # Operations that only the sandbox forbids are reported above.
        if crash.needed and not crash.sandbox_alone:
            count = len(crash.titles)
            crashes = f"{number_of(count, 'message')} crash{'es' * (count == 1)} the template"
            yield _crashing(crash, f"{crashes}{under}")
    if check.different:
        first = min(check.different, key=lambda failure: failure.rank)
        yield OwnFinding(
            FindingLevel.ERROR,
            f"{len(check.different)} of {check.total} messages differ from the template's render"
            f"{under}, first {first.title}: {failure_reason(first)}",
        )


def _crashing(crash: TemplateCrash, words: str) -> OwnFinding:
    reason = visible(crash.reason).rstrip(".")
    return OwnFinding(FindingLevel.ERROR, f"{words}: {reason}", crash.line)


_STYLES = {FindingLevel.ERROR: "red", FindingLevel.WARNING: "yellow", FindingLevel.INFO: "dim"}
NONE = "none so far; lint checks more"


def findings_words(learned: LearnedFormat, found: Sequence[OwnFinding]) -> Text:
    """Count a format's own findings by their level, and state the worst."""
    if not found:
        return Text(NONE)
    counts = Counter(finding.level for finding in found)
    level_counts = [
        Text(f"{count} {level.word}{'s' * (count != 1 and level is not FindingLevel.INFO)}", style)
        for level, style in _STYLES.items()
        if (count := counts[level])
    ]
    worst = " so far: " if len(found) == 1 else " so far; worst: "
    words = _finding_words(learned, found[0], PLACE_ROOM)
    return sentence(joined(level_counts, ", "), worst, words)


def findings_section(learned: LearnedFormat) -> Blocks:
    """List the findings; the linter's rules find far more."""
    found = own_findings(learned)
    finding_rows = [(finding.level.word, _finding_words(learned, finding)) for finding in found]
    return [
        *heading("Findings"),
        *(rows(finding_rows) if finding_rows else prose(NONE)),
        *prose("autoparser lint checks all rules."),
    ]


PLACE_ROOM = 40
"""Cells for a place on the first screen, whose first line has the template's path."""


def _finding_words(learned: LearnedFormat, finding: OwnFinding, room: int | None = None) -> Text:
    if finding.line is None:
        return Text(finding.words)
    text = learned.template.text if isinstance(learned, Analysis) else ""
    place = place_in_line(learned.template.origin or "a text", finding.line, text)
    return sentence(place_text(place, room), f" {finding.words}")


SHOWN = 4
"""Tokens shown before the rest are counted."""


def unwritten_rows(learned: LearnedFormat, tokens: Sequence[str]) -> Iterator[Row]:
    """Return a row with the tokens that no render contains, or nothing without any."""
    if tokens:
        yield "Tokens", Text(unwritten_words(learned.template.origin or "-", tokens))


def unwritten_words(source: str, tokens: Sequence[str]) -> str:
    """Name the tokens that no render contains, with advice in case the model writes them."""
    names = some_of([*map(visible, tokens)], SHOWN)
    rest = " added tokens" if len(tokens) > SHOWN else ""
    command = f"autoparser learn {shlex.quote(visible(source))} --examples FILE"
    return f"no render contains {names}{rest}; if the model writes them, teach one: {command}"


_SEVERITY_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def lint_findings_report(findings: Sequence[LintFinding], width: int) -> Text:
    """List findings, the most severe first, as the linter does."""
    finding_rows = [(finding.code, _lint_finding_words(finding)) for finding in findings]
    drawn = rows(finding_rows, indent=0) if finding_rows else prose("no findings", indent=0)
    return report_text(drawn, width)


def _lint_finding_words(finding: LintFinding) -> Text:
    weight = finding.severity
    line = "" if finding.hit.line is None else f" in line {finding.hit.line}"
    return sentence((weight.value, _SEVERITY_STYLES[weight]), f"{line}: {visible(finding.message)}")
