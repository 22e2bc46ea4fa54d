"""What a survey keeps of one template."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import CallFormat, Slot
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.history.roundtrip import code_of, round_trip, shipped_scenarios
from autoparser.analysis.lint import LintReport, Severity, Subject, lint
from autoparser.analysis.loading.sources import load_template

HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class Record:
    """One template: what it is like, or why it cannot be analysed."""

    source: str
    sha256: str
    """Of the template's text; of its file where that cannot be read."""
    error: str = ""
    """Why there is no analysis; all below is then empty."""
    reasoning: str = ""
    """The reasoning mode."""
    content: str = ""
    tools: str = ""
    """The mode of the calls."""
    call: str = ""
    """One call as it is written, with its slots by name: templates that share it are a family."""
    switches: tuple[str, ...] = ()
    passed: int = 0
    """Messages of the self-check that come out right."""
    total: int = 0
    equal: int = 0
    """Messages that the format writes as the template renders them."""
    refused: int = 0
    """Messages that the template refuses on purpose."""
    crashed: int = 0
    """Messages on which the template crashes."""
    not_asked: int = 0
    """Messages that its shape cannot tell from others."""
    crash: str = ""
    """The first crash on what agents send: its line, and what was raised."""
    trips: Mapping[str, int] = field(default_factory=dict[str, int])
    """Verdicts of the round trip, counted: `holds`, and the codes of causes."""
    findings: Mapping[Severity, int] | None = None
    """What lint found, counted by what it costs; None where it was not asked."""

    @property
    def ok(self) -> bool:
        """Whether it was analysed and the whole self-check passes."""
        return not self.error and self.passed == self.total

    @property
    def played(self) -> int:
        """Round trips that apply to it."""
        return sum(self.trips.values())

    @property
    def held(self) -> int:
        """Those that hold."""
        return self.trips.get(HOLDS, 0)


def digest_of(text: str) -> str:
    """Return the digest by which a template is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def record_of(source: str, digest: str, *, linted: bool = False) -> Record:
    """Look at one template; whatever it does is a record."""
    try:
        analysis = analyze(load_template(source))
        found = lint(Subject(analysis.template, analysis=analysis)) if linted else None
        return recorded(source, digest, analysis, found)
    except AutoparserError as error:
        return Record(source, digest, error=error.message)


def recorded(
    source: str, digest: str, analysis: Analysis, found: LintReport | None = None
) -> Record:
    """Return what is kept of an analysis, and of what lint found."""
    view, check, calls = analysis.view, analysis.check, analysis.formats.fullest.calls
    # The template's usual setting alone: a corpus is compared by what templates do by themselves.
    played = round_trip(
        analysis, shipped_scenarios(), setting=analysis.formats.fullest.setting or None
    )
    trips = Counter(
        HOLDS if row.verdict.cause is None else code_of(row.verdict.cause) for row in played.rows
    )
    return Record(
        source,
        digest,
        reasoning=view.reasoning.value,
        content=view.content.value,
        tools=view.tools.value,
        call="" if calls is None else _call(calls),
        switches=tuple(sorted(switch.name for switch in analysis.switches)),
        passed=check.passed,
        total=check.total,
        equal=check.equal,
        refused=check.refused,
        crashed=check.crashed,
        not_asked=check.not_asked,
        crash=_crash(check),
        trips=dict(sorted(trips.items())),
        findings=None if found is None else _counted(found),
    )


def _counted(found: LintReport) -> Mapping[Severity, int]:
    counts = Counter(finding.severity for finding in found.findings)
    return {severity: counts[severity] for severity in Severity}


def _crash(check: Check) -> str:
    crash = next((each for each in check.crashes if each.needed), None)
    if crash is None:
        return ""
    return crash.reason if crash.line is None else f"line {crash.line}: {crash.reason}"


def _call(calls: CallFormat) -> str:
    """Write a call's row, its arguments by one of their entries where they are not JSON."""
    members = calls.arguments.members
    arguments = "«arguments»"
    if not (members.values or calls.arguments.values).is_json or members.values is not None:
        entry = "".join(f"«{p.value}»" if isinstance(p, Slot) else p for p in members.entry)
        arguments = f"{members.open}{entry}{members.close}"
    return "".join(
        (arguments if piece is Slot.ARGUMENTS else f"«{piece.value}»")
        if isinstance(piece, Slot)
        else piece
        for piece in calls.row
    )
