"""Faults of a template that the analysis itself shows, without further renders.

The linter's rules check far more; their renders take longer than the analysis. Each fault has the
code and the severity of the rule that reports it, and counts only if lint's default profile shows
that rule, so that `analyze` never counts a finding that `lint` hides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Check, TemplateCrash
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.rule import Profile

from .blocks import Blocks, Row, heading, join_texts, prose, rows, sentence
from .places import place_in_line, place_text
from .summary import LIMIT_WORDS
from .terminal import report_text
from .verdict import LOST_ARGUMENTS, LOST_CALLS, failure_reason, gate_fault_words, spoiled_words
from .visible import UNCONFIRMED, counted_noun, first_names, setting_words, template_word, visible


class FindingLevel(IntEnum):
    """The severity, in the linter's words; the most severe first."""

    ERROR = 0
    WARNING = 1
    NOTE = 2
    """Not counted: hidden by lint's default profile, or a remark on this report."""

    @property
    def word(self) -> str:
        """Return the name of the level."""
        return self.name.lower()


class OwnFinding(Struct, frozen=True):
    """A fault, and its place as far as known."""

    words: str
    """The fault, e.g. `parallel calls: only the first is rendered`."""
    code: str | None = None
    """The rule that reports it, e.g. `AP515`, or None for a remark on this report."""
    line: int | None = None
    """The template's line, from 1, e.g. `10`, or None if it is about no single line."""
    fix: str | None = None
    """Options of `autoparser fix` that may fix it, e.g. ` --select AP503`; None without edits."""

    @property
    def level(self) -> FindingLevel:
        """The severity of the rule in lint's default profile."""
        if self.code is None:
            return FindingLevel.NOTE
        rule = find_rule(self.code)
        # `analyze` must not count what `lint` hides by default.
        shown = Profile.RELEASE.shows(rule, rule.severity)
        return FindingLevel[rule.severity.name] if shown else FindingLevel.NOTE


def own_findings(learned: LearnedFormat) -> Sequence[OwnFinding]:
    """Return the faults that the verdicts and the format show, the most severe first."""
    # A stable sort: findings of one level keep their order.
    return sorted(_each_finding(learned), key=lambda finding: finding.level)


def _each_finding(learned: LearnedFormat) -> Iterator[OwnFinding]:
    """Yield an analysis' findings with their rules, if any; the checks' findings come first."""
    checked: list[OwnFinding] = []
    for format_, check in zip(learned.formats, learned.checks, strict=True):
        # With one format the setting is the default, which needs no words.
        under = setting_words(format_.setting) if len(learned.formats) > 1 else ""
        checked += _check_findings(check, f" with {under}" if under else "")
    # Once for each form, though the check of every setting has it.
    spoiled = {form.usual: form for check in learned.checks for form in check.forms if not form.ok}
    checked += [OwnFinding(spoiled_words(form), "AP121") for form in spoiled.values()]
    yield from checked
    gate = learned.gate
    # A wrong format has wrong grammars, and losses in OpenAI-style messages are reported above.
    if not (checked or gate.ok):
        yield OwnFinding(f"{gate_fault_words(gate)}: {visible(gate.faults[0].detail)}", "AP604")
    united = learned.formats.united
    # None is unknown. A model whose reasoning is dropped there loses its plan between calls.
    if united.retention.tool_loop is False:
        yield OwnFinding(
            "reasoning before a call is dropped after the call's result", "AP402", fix=""
        )
    calls = united.calls
    if TurnPart.CALLS in united.unconfirmed:
        yield OwnFinding("tool calls are described in the prompt, but never rendered", "AP501")
    elif calls is not None and calls.limit in LOST_CALLS:
        yield OwnFinding(f"parallel calls: {LIMIT_WORDS[calls.limit]}", "AP515")
    texts = learned.string_arguments
    if texts is not None and texts in LOST_ARGUMENTS:
        code = _ARGUMENT_RULES[texts]
        encoded = texts is StringArguments.ENCODED_TWICE
        yield OwnFinding(LOST_ARGUMENTS[texts], code, fix=f" --select {code}" if encoded else None)
    for part in united.unconfirmed:
        if part is not TurnPart.CALLS:
            yield OwnFinding(f"{part.value} {UNCONFIRMED}")
    # A stand-in looks like the token itself.
    if learned.stand_ins:
        names = ", ".join(sorted(learned.stand_ins))
        yield OwnFinding(f"{names}: unknown without the tokenizer, shown as its name")


_ARGUMENT_RULES = {
    StringArguments.ENCODED_TWICE: "AP503",
    StringArguments.RAISES: "AP504",
    StringArguments.DROPPED: "AP505",
}


def _check_findings(check: Check, under: str) -> Iterator[OwnFinding]:
    forbidden = check.forbidden
    if forbidden is not None:
        yield _crashing(forbidden, f"transformers' sandbox rejects the template{under}", "AP804")
    for crash in check.crashes:
        # Operations that only the sandbox forbids are reported above.
        if crash.needed and not crash.sandbox_alone:
            count = len(crash.titles)
            crashes = f"{counted_noun(count, 'message')} crash{'es' * (count == 1)} the template"
            yield _crashing(crash, f"{crashes}{under}", "AP604")
    # The message with the clearest cause stands for the others.
    if check.different:
        first = min(check.different, key=lambda failure: failure.rank)
        count = len(check.different)
        differ = f"differ{'s' * (count == 1)} from the template's render"
        yield OwnFinding(
            f"{count} of {check.total} messages {differ}{under},"
            f" first {first.title}: {failure_reason(first)}",
            "AP604",
        )


def _crashing(crash: TemplateCrash, words: str, code: str) -> OwnFinding:
    return OwnFinding(f"{words}: {visible(crash.reason).rstrip('.')}", code, crash.line)


_STYLES = {FindingLevel.ERROR: "red", FindingLevel.WARNING: "yellow"}
NONE = "none so far; lint checks more"


def findings_words(learned: LearnedFormat, found: Sequence[OwnFinding]) -> Text:
    """Count a format's own findings by their level, and state the worst."""
    counts = Counter(finding.level for finding in found)
    notes = counts.pop(FindingLevel.NOTE, 0)
    if not counts:
        named = f" ({counted_noun(notes, 'note')}: --show findings)" if notes else ""
        return sentence(NONE, named)
    level_counts = [
        Text(counted_noun(count, level.word), style)
        for level, style in _STYLES.items()
        if (count := counts[level])
    ]
    worst = " so far: " if counts.total() == 1 else " so far; worst: "
    words = _finding_words(learned, found[0], PLACE_ROOM)
    return sentence(join_texts(level_counts, ", "), worst, words)


def findings_section(learned: LearnedFormat) -> Blocks:
    """List the findings; the linter's rules find far more."""
    found = own_findings(learned)
    finding_rows = [(finding.level.word, _finding_words(learned, finding)) for finding in found]
    hidden = any(finding.level is FindingLevel.NOTE and finding.code for finding in found)
    return [
        *heading("Findings"),
        *(rows(finding_rows) if finding_rows else prose(NONE)),
        *prose("autoparser lint checks all rules."),
        *(
            prose("By default (profile release), it hides notes that have a code.")
            if hidden
            else []
        ),
    ]


PLACE_ROOM = 40
"""Cells for a place on the first screen, whose first line has the template's path."""


def _finding_words(learned: LearnedFormat, finding: OwnFinding, room: int | None = None) -> Text:
    code = "" if finding.code is None else f"{finding.code} "
    if finding.line is None:
        return Text(f"{code}{finding.words}")
    # A saved format has no template, and so no column.
    text = learned.template.text if isinstance(learned, Analysis) else ""
    place = place_in_line(learned.template.origin or "a text", finding.line, text)
    return sentence(code, place_text(place, room), f" {finding.words}")


SHOWN = 4
"""Tokens shown before the rest are counted."""


def unwritten_rows(learned: LearnedFormat, tokens: Sequence[str]) -> Iterator[Row]:
    """Return a row with the tokens that no render contains, or nothing without any."""
    if tokens:
        yield "Tokens", Text(unwritten_words(template_word(learned.template), tokens))


def unwritten_words(source: str, tokens: Sequence[str]) -> str:
    """Name the tokens that no render contains, with advice in case the model writes them."""
    names = first_names([*map(visible, tokens)], SHOWN)
    rest = " added tokens" if len(tokens) > SHOWN else ""
    command = f"autoparser learn {source} --examples FILE"
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
