"""Run the rules on one template, and merge findings of one cause.

Three rules may see one exception; the finding of one remains and names the others:

    >>> from autoparser.analysis.lint.registry import find_rule
    >>> cause = HitCause("raises", 3, "roles must alternate")
    >>> rules = [find_rule(code) for code in ("AP103", "AP118", "AP101")]
    >>> found = [LintFinding(rule, Hit("…", cause=cause)) for rule in rules]
    >>> [(finding.code, finding.also) for finding in merge_findings(found)]
    [('AP101', ('AP103', 'AP118'))]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from msgspec import Struct

from autoparser.analysis.core.error_words import one_line
from autoparser.shown import Shown

from .hit import Confidence, Hit, HitCause, HitEvidence, Severity
from .registry import all_rules, run_check
from .rule import NoFix, Profile, Rule, RuleNeed

if TYPE_CHECKING:
    from .subject import Subject

# A hit with the code and severity of its rule.


@dataclass(frozen=True, slots=True, repr=False)
class LintFinding(Shown):
    """A hit of a rule on a template."""

    shown_as: ClassVar[str] = "finding"

    rule: Rule
    """The rule that made it, e.g. AP108 ``content-parts``."""
    hit: Hit
    """The observation, e.g. ``Hit("the end of a turn, '<|end|>', is 7 tokens")``."""
    also: tuple[str, ...] = ()
    """Codes of the rules that saw the same cause and were merged into this finding, e.g.
    ``("AP114",)``."""

    def __repr__(self) -> str:
        """Return code, severity, line and message in one line."""
        line = "" if self.hit.line is None else f" line {self.hit.line}"
        words = one_line(self.message)
        return f"<{type(self).__name__} {self.code} {self.severity.value}{line}: {words}>"

    @property
    def code(self) -> str:
        """The rule's stable code."""
        return self.rule.code

    @property
    def severity(self) -> Severity:
        """The cost to the template's users."""
        return self.hit.severity or self.rule.severity

    @property
    def confidence(self) -> Confidence:
        """The certainty of the observation."""
        return self.hit.confidence or self.rule.confidence

    @property
    def message(self) -> str:
        """The hit's message, with the switches if it only happens under those."""
        if not self.hit.setting:
            return self.hit.message
        switches = ", ".join(f"{name}={value!r}" for name, value in self.hit.setting.items())
        return f"{self.hit.message} (only with {switches})"

    @property
    def message_without_reasons(self) -> str:
        """The message without the exceptions' messages that the evidence shows."""
        shown = (text for pair in self.evidence for text in (pair.one, pair.other) if text)
        message = self.message
        errors = [text.error for text in shown if text.error]
        if not errors:
            return message
        # A cached finding must not import the modules that render.
        from .hit_words import quoted_reasons  # noqa: PLC0415

        for error in errors:
            for words in quoted_reasons(error):
                message = message.replace(words, "…")
        return message

    @property
    def evidence(self) -> tuple[HitEvidence, ...]:
        """The texts that show the fault."""
        return self.hit.evidence

    @property
    def line(self) -> int | None:
        """The template's line, from 1, or None if unknown."""
        return self.hit.line

    @property
    def column(self) -> int | None:
        """The column in that line, from 1, or None for the whole line."""
        return self.hit.column

    @property
    def fix(self) -> str:
        """The remedy; empty if unknown."""
        return self.hit.fix or self.rule.fix

    @property
    def why_unfixed(self) -> str:
        """Why no edit is known, e.g. ``no render shows the correct text``."""
        raised = self.hit.cause is not None and self.hit.cause.kind == "raises"
        # A prompt that raises has no notation to change.
        if raised and self.rule.unfixed is NoFix.NOTATION:
            return NoFix.UNWRITTEN.words
        return self.rule.why_unfixed


_WEIGHTS = [*Severity]


def _weight(finding: LintFinding) -> int:
    return _WEIGHTS.index(finding.severity)


# Findings that are not shown are folded into one line. Every rule runs under every profile.


class FindingFilter(Struct, frozen=True):
    """The choice of findings to show."""

    profile: Profile = Profile.STRICT
    """The purpose of the run, e.g. ``Profile.RELEASE``."""
    min_severity: Severity = Severity.INFO
    """The lowest severity to show, e.g. ``Severity.WARNING``."""
    always: frozenset[str] = frozenset()
    """Codes of rules that were selected explicitly, e.g. ``frozenset({"AP810"})``: every profile
    shows their findings."""

    def shows(self, finding: LintFinding) -> bool:
        """Return whether a finding is shown; hidden findings do not count."""
        if _weight(finding) > _WEIGHTS.index(self.min_severity):
            return False
        return finding.code in self.always or self.profile.shows(
            finding.rule, finding.severity, loses=finding.hit.loses
        )


SHOWING_ALL = FindingFilter()
SHOWING_RELEASE = FindingFilter(Profile.RELEASE)


# Findings of one cause are merged in two ways. A finding may name its cause, such as a line and the
# error raised there: of several with the same cause, the most severe remains. And a rule may cover
# others: if content is always dropped, a report that it is also missing beside calls adds nothing.
# A folded or less severe finding never hides a shown one.


def merge_findings(
    findings: Sequence[LintFinding], finding_filter: FindingFilter = SHOWING_ALL
) -> tuple[LintFinding, ...]:
    """Return the findings that remain, by severity, then by code.

    Among findings of one cause and severity, one that `Profile.RELEASE` shows stays, so that the
    result of `SHOWING_ALL` can be filtered for that profile.
    """

    def rank(finding: LintFinding) -> _Rank:
        shown, released = finding_filter.shows(finding), SHOWING_RELEASE.shows(finding)
        return not shown, _weight(finding), not released

    ordered = sorted(findings, key=lambda finding: (rank(finding), finding.code))
    merged = _by_cause(_fold_covered(ordered, rank))
    return tuple(sorted(merged, key=lambda finding: (_weight(finding), finding.code)))


_Rank: TypeAlias = tuple[bool, int, bool]


def _fold_covered(
    findings: Sequence[LintFinding], rank: Callable[[LintFinding], _Rank]
) -> list[LintFinding]:
    """Fold findings into ones of a higher or equal rank whose rules cover theirs."""
    # The findings are sorted by rank, so the highest one covers.
    covering: dict[str, LintFinding] = {}
    for finding in findings:
        for code in finding.rule.covers:
            covering.setdefault(code, finding)

    def covering_finding(finding: LintFinding) -> LintFinding | None:
        cover = covering.get(finding.code)
        return cover if cover is not None and rank(cover) <= rank(finding) else None

    covered: dict[str, list[str]] = {}
    kept: list[LintFinding] = []
    for finding in findings:
        last, seen = finding, {finding.code}
        # A covering finding may be covered itself; two rules that cover each other must not both
        # be folded.
        while (cover := covering_finding(last)) is not None and cover.code not in seen:
            last = cover
            seen.add(cover.code)
        if last is finding:
            kept.append(finding)
        else:
            covered.setdefault(last.code, []).append(finding.code)
    return [
        replace(
            finding, also=_distinct((*finding.also, *covered.pop(finding.code, ())), finding.code)
        )
        for finding in kept
    ]


def _by_cause(findings: Sequence[LintFinding]) -> list[LintFinding]:
    kept: list[LintFinding] = []
    places: dict[HitCause, int] = {}
    for finding in findings:
        cause = finding.hit.cause
        if cause is None or cause not in places:
            if cause is not None:
                places[cause] = len(kept)
            kept.append(finding)
            continue
        first = kept[places[cause]]
        codes = (*first.also, finding.code, *finding.also)
        # A finding that also occurs with no switch set does not depend on the switches.
        always = not (first.hit.setting and finding.hit.setting)
        hit = replace(first.hit, setting={}) if always else first.hit
        kept[places[cause]] = replace(first, hit=hit, also=_distinct(codes, first.code))
    return kept


def _distinct(codes: Iterable[str], but: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code != but))


@dataclass(frozen=True, slots=True, repr=False)
class LintReport(Shown):
    """The findings of the rules in one template."""

    shown_as: ClassVar[str] = "findings"

    findings: tuple[LintFinding, ...]
    """Merged by cause, the most severe first, e.g. ``(<LintFinding AP506 error line 23: …>,)``."""
    left_out: tuple[tuple[Rule, RuleNeed], ...]
    """Skipped rules, with the need that was not met, e.g. AP210 and ``RuleNeed.TOKENIZER``."""

    def __repr__(self) -> str:
        """Return the codes in one line, the most severe first."""
        codes = ", ".join(finding.code for finding in self.findings)
        return f"<{type(self).__name__}: {codes or 'no findings'}>"


def lint(subject: Subject, rules: Sequence[Rule] | None = None) -> LintReport:
    """Run rules on a template, and merge their findings; None selects the default ones.

    Raises TemplateLimitError if no render ends in time.
    """
    found, left_out = run_rules(subject, rules)
    return LintReport(merge_findings(found), left_out)


def run_rules(
    subject: Subject, rules: Sequence[Rule] | None = None
) -> tuple[tuple[LintFinding, ...], tuple[tuple[Rule, RuleNeed], ...]]:
    """Return all findings, to be chosen and merged later, and the rules that were skipped.

    Raises TemplateLimitError if no render ends in time.
    """
    chosen = [rule for rule in all_rules() if rule.default] if rules is None else rules
    if any(rule.needs is not RuleNeed.SOURCE for rule in chosen):
        # Analyze first: if no render ends in time, no rule should wait for its own.
        subject.has(RuleNeed.ANALYSIS)
    found: list[LintFinding] = []
    left_out: list[tuple[Rule, RuleNeed]] = []
    for rule in chosen:
        if subject.has(rule.needs):
            found += [LintFinding(rule, hit) for hit in _hits(rule, subject)]
        else:
            left_out.append((rule, subject.missing_need(rule.needs)))
    return tuple(found), tuple(left_out)


def _hits(rule: Rule, subject: Subject) -> list[Hit]:
    """Return a rule's hits. Hits that need the format's switches name them."""
    hits = [_in_plain_words(hit, subject) for hit in run_check(rule, subject)]
    if not hits or rule.needs is RuleNeed.SOURCE:
        # Source rules give the same result under any switch, and must not render: no render may
        # end.
        return hits
    usual = subject.usual_setting
    # A fault that also occurs without the switches does not depend on them.
    if not usual or next(run_check(rule, subject.with_nothing_set), None) is not None:
        return hits
    return [hit if hit.setting else replace(hit, setting=usual) for hit in hits]


_QUOTED = re.compile(r"'([^']*)'")


def _in_plain_words(hit: Hit, subject: Subject) -> Hit:
    """Return a hit whose message quotes sentinels as the plain words of its evidence."""
    from autoparser.analysis.learning.plain_words import plain_words  # noqa: PLC0415

    words = plain_words(subject.template.text)
    message = words.text(hit.message)
    texts = [
        text.text for evidence in hit.evidence for text in (evidence.one, evidence.other) if text
    ]
    # Evidence in sentinels stays so where the template treats plain words differently; the message
    # must quote the same words.
    if message == hit.message or any(words.text(text) != text for text in texts):
        return hit
    # A capital that the template adds to a sentinel is there in the plain words, too.
    quoted = set(_QUOTED.findall(hit.message))
    if len({words.text(text) for text in quoted}) < len(quoted):
        return hit
    return replace(hit, message=message)
