"""Every rule on one template."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from autoparser.analysis.core.errors import one_line
from autoparser.shown import Shown

from .hit import Confidence, Hit, HitCause, HitEvidence, Severity
from .registry import all_rules, run_check
from .rule import Profile, Rule, RuleNeed

if TYPE_CHECKING:
    from .subject import Subject

# A hit of a rule on a template, with the rule's code and weight put to it.


@dataclass(frozen=True, slots=True, repr=False)
class LintFinding(Shown):
    """A hit of a rule on a template."""

    shown_as: ClassVar[str] = "finding"

    rule: Rule
    hit: Hit
    also: tuple[str, ...] = ()
    """Codes of the rules that saw the same cause and were merged into this."""

    def __repr__(self) -> str:
        """Return code, weight, place and what happens, in one line."""
        line = "" if self.hit.line is None else f" line {self.hit.line}"
        words = one_line(self.message)
        return f"<{type(self).__name__} {self.code} {self.severity.value}{line}: {words}>"

    @property
    def code(self) -> str:
        """The rule's stable code."""
        return self.rule.code

    @property
    def severity(self) -> Severity:
        """What it costs."""
        return self.hit.severity or self.rule.severity

    @property
    def confidence(self) -> Confidence:
        """How sure it is."""
        return self.hit.confidence or self.rule.confidence

    @property
    def message(self) -> str:
        """What happens to whom, and the switches under which alone it does."""
        if not self.hit.setting:
            return self.hit.message
        switches = ", ".join(f"{name}={value!r}" for name, value in self.hit.setting.items())
        return f"{self.hit.message} (only with {switches})"

    @property
    def message_without_reasons(self) -> str:
        """The message without the words of the exceptions that its evidence shows."""
        shown = (text for pair in self.evidence for text in (pair.one, pair.other) if text)
        message = self.message
        errors = [text.error for text in shown if text.error]
        if not errors:
            return message
        # A finding from the cache needs none of the modules that render.
        from .lint_renders import quoted_reasons  # noqa: PLC0415

        for error in errors:
            for words in quoted_reasons(error):
                message = message.replace(words, "…")
        return message

    @property
    def evidence(self) -> tuple[HitEvidence, ...]:
        """The texts that show it."""
        return self.hit.evidence

    @property
    def line(self) -> int | None:
        """The template's line, from 1; None where none can be named."""
        return self.hit.line

    @property
    def column(self) -> int | None:
        """The place in that line, from 1; None: the line as a whole."""
        return self.hit.column

    @property
    def fix(self) -> str:
        """What to write instead; empty where it is not known."""
        return self.hit.fix or self.rule.fix


# Findings of one cause are one finding.
#
# Two ways lead there. A finding may name its cause, such as the line that raised and what it
# said: of several with the same cause the weightiest stays. And a rule may cover others: where
# content is dropped altogether, it is not news that it is not written beside calls either. A
# finding never hides one that weighs more.


_WEIGHTS = [*Severity]


def merge_findings(findings: Sequence[LintFinding]) -> tuple[LintFinding, ...]:
    """Return the findings that stay, in the order of weight, then of code."""
    ordered = sorted(findings, key=lambda each: (_weight(each), each.code))
    return tuple(_by_cause(_uncovered(ordered)))


def _uncovered(findings: Sequence[LintFinding]) -> list[LintFinding]:
    """Fold the findings of rules that another's finding covers into that, unless it weighs less."""
    # The weightiest come first, and it is they that cover.
    covering: dict[str, LintFinding] = {}
    for finding in findings:
        for code in finding.rule.covers:
            covering.setdefault(code, finding)

    def cover_of(finding: LintFinding) -> LintFinding | None:
        cover = covering.get(finding.code)
        return cover if cover is not None and _weight(cover) <= _weight(finding) else None

    covered: dict[str, list[str]] = {}
    kept: list[LintFinding] = []
    for finding in findings:
        last, seen = finding, {finding.code}
        while (cover := cover_of(last)) is not None and cover.code not in seen:
            last = cover
            seen.add(cover.code)
        if last is finding:
            kept.append(finding)
        else:
            covered.setdefault(last.code, []).append(finding.code)
    return [
        replace(each, also=_distinct((*each.also, *covered.pop(each.code, ())), each.code))
        for each in kept
    ]


def _weight(finding: LintFinding) -> int:
    return _WEIGHTS.index(finding.severity)


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
        # What is seen once with nothing set holds under no switch alone.
        always = not (first.hit.setting and finding.hit.setting)
        hit = replace(first.hit, setting={}) if always else first.hit
        kept[places[cause]] = replace(first, hit=hit, also=_distinct(codes, first.code))
    return kept


def _distinct(codes: Iterable[str], but: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code != but))


# Findings that are not shown are folded into one line. Every rule looks whatever the profile is,
# since findings of one cause are merged first: what is shown does not depend on what is not.


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings are shown."""

    profile: Profile = Profile.STRICT
    min_severity: Severity = Severity.INFO
    always: frozenset[str] = frozenset()
    """Codes of rules that somebody asked for, which are shown in every profile."""

    def shows(self, finding: LintFinding) -> bool:
        """Whether a finding is shown; one that is not does not count either."""
        if _WEIGHTS.index(finding.severity) > _WEIGHTS.index(self.min_severity):
            return False
        return finding.code in self.always or self.profile.shows(
            finding.rule, finding.severity, loses=finding.hit.loses
        )


SHOWING_ALL = FindingFilter()


@dataclass(frozen=True, slots=True, repr=False)
class LintReport(Shown):
    """What the rules found in one template."""

    shown_as: ClassVar[str] = "findings"

    findings: tuple[LintFinding, ...]
    """Merged by cause, the weightiest first."""
    left_out: tuple[tuple[Rule, RuleNeed], ...]
    """Rules that could not look, and what they lack."""

    def __repr__(self) -> str:
        """Return the codes, the weightiest first, in one line."""
        codes = ", ".join(finding.code for finding in self.findings)
        return f"<{type(self).__name__}: {codes or 'no findings'}>"


def lint(subject: Subject, rules: Sequence[Rule] | None = None) -> LintReport:
    """Let the rules look at a template; None takes those that run by default.

    Raises TemplateLimitError where no render of it ends in time.
    """
    chosen = [rule for rule in all_rules() if rule.default] if rules is None else rules
    if any(rule.needs is not RuleNeed.SOURCE for rule in chosen):
        # Asked first: that nothing ends is known before any rule renders.
        subject.has(RuleNeed.ANALYSIS)
    found: list[LintFinding] = []
    left_out: list[tuple[Rule, RuleNeed]] = []
    for rule in chosen:
        if subject.has(rule.needs):
            found += [LintFinding(rule, hit) for hit in _hits(rule, subject)]
        else:
            left_out.append((rule, subject.missing_need(rule.needs)))
    return LintReport(merge_findings(found), tuple(left_out))


def _hits(rule: Rule, subject: Subject) -> list[Hit]:
    """Let a rule look; what it sees only under the switches of the format says so."""
    hits = [_in_plain_words(hit, subject) for hit in run_check(rule, subject)]
    if not hits or rule.needs is RuleNeed.SOURCE:
        # A source says the same under every switch, and may be one whose renders never end.
        return hits
    usual = subject.usual_setting
    if not usual or next(run_check(rule, subject.with_nothing_set), None) is not None:
        return hits
    return [hit if hit.setting else replace(hit, setting=usual) for hit in hits]


def _in_plain_words(hit: Hit, subject: Subject) -> Hit:
    """Return a hit whose message quotes the conversation in the words in which it is shown."""
    from autoparser.analysis.learning.plain_words import plain_words  # noqa: PLC0415

    words = plain_words(subject.template.text)
    message = words.text(hit.message)
    texts = [text.text for each in hit.evidence for text in (each.one, each.other) if text]
    if message == hit.message or any(words.text(text) != text for text in texts):
        return hit
    return replace(hit, message=message)
