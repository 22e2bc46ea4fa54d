"""Findings of lint fixed by the smallest edits of the template that renders prove right.

For each finding, edits are tried alone, then one after the other. First those are kept that change
what the rule looked at; of these, the smallest is taken after which the rule finds less, every
conversation of the proof is as it was or better, and no rule finds anything new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.lint import LintFinding, Rule, RuleGroup, Subject, all_rules, lint
from autoparser.analysis.lint.project.ignores import ignores_of
from autoparser.analysis.lint.rules.training.no_generation_markers import RULE as UNMARKED
from autoparser.analysis.loading.edits import TemplateEdit, changed_lines, edited, in_newlines
from autoparser.analysis.loading.template import ChatTemplate

from .candidates import FixCandidate, fix_candidates
from .edit_proof import EditProof, ProvenEdit
from .marked_template import marked_templates, marks_what_the_model_writes

__all__ = ["FindingFix", "FixedTemplate", "Unfixed", "fix_template"]

MOST_STEPS = 4
"""So many edits are put together for one finding."""
AT_ONCE = 24
"""So many are tried before one further from the finding's place is."""
MOST_TRIED = 240
"""So many are tried at each step."""


class Unfixed(StrEnum):
    """Why a finding stays."""

    NO_EDIT = "no edit changes what the rule looked at"
    NOT_PROVEN = "every edit that changes what the rule looked at changes something that was right"
    NOT_GONE = "no edit that changes nothing else makes the finding go"
    NEW = "every edit by which it goes makes a rule find something new"


@dataclass(frozen=True, slots=True)
class FindingFix:
    """A finding, and what was done about it."""

    finding: LintFinding
    edits: tuple[TemplateEdit, ...]
    """Places are in the text before this finding was fixed; empty where it was not."""
    proof: ProvenEdit | None
    reason: Unfixed | None
    tried: int
    """Edits that were rendered with."""


@dataclass(frozen=True, slots=True)
class FixedTemplate:
    """A template, the one with what could be fixed, and what was done about each finding."""

    original: ChatTemplate
    template: ChatTemplate
    fixes: tuple[FindingFix, ...]

    @property
    def changed(self) -> bool:
        """Whether anything was fixed."""
        return self.template.text != self.original.text


def fix_template(template: ChatTemplate, rules: Sequence[Rule] | None = None) -> FixedTemplate:
    """Fix what can be fixed of the findings of these rules; None takes those that run by default.

    Raises AutoparserError where the template cannot be analysed, or is an encoder in Python.
    """
    if template.source is not None and template.source.ran_code:
        raise AutoparserError(
            "an encoder in Python has no template that could be edited", file=template.origin
        )
    chosen = [rule for rule in all_rules() if rule.default] if rules is None else rules
    text = in_newlines(template.text)
    accepted = {code for each in ignores_of(text, "")[0] for code in each.codes}
    wanted = [rule for rule in chosen if rule.fixable and rule.code not in accepted]
    current = replace(template, text=text)
    fixes: list[FindingFix] = []
    for finding in lint(_subject(current), wanted).findings:
        # What was fixed before may have fixed this, too.
        if fixes and not _hits(_subject(current), finding.rule):
            continue
        found, current = _fixed(current, finding)
        fixes.append(found)
    text = current.text
    if text != in_newlines(template.text) and "\r\n" in template.text:
        text = text.replace("\n", "\r\n")
    elif text == in_newlines(template.text):
        text = template.text
    return FixedTemplate(template, replace(template, text=text), tuple(fixes))


def _subject(template: ChatTemplate) -> Subject:
    """Analyse a template. Raises AutoparserError where that cannot be done."""
    subject = Subject(template)
    _ = subject.analysis
    return subject


def _fixed(template: ChatTemplate, finding: LintFinding) -> tuple[FindingFix, ChatTemplate]:
    if finding.rule is UNMARKED:
        return _marked(template, finding)
    search = _FixSearch(template, finding)
    found = search.found()
    if isinstance(found, Unfixed):
        return FindingFix(finding, (), None, found, search.tried), template
    edits, proof = found
    fixed = replace(template, text=edited(template.text, edits))
    return FindingFix(finding, edits, proof, None, search.tried), fixed


def _marked(template: ChatTemplate, finding: LintFinding) -> tuple[FindingFix, ChatTemplate]:
    """Write generation blocks, by which no text changes."""
    subject = _subject(template)
    proof, known, tried, reason = EditProof(subject), _codes(subject), 0, Unfixed.NO_EDIT
    for marked in marked_templates(subject.analysis):
        tried += 1
        proven = _proven_marks(subject, proof, marked)
        if proven is None:
            reason = max(reason, Unfixed.NOT_PROVEN, key=[*Unfixed].index)
            continue
        after = _subject(marked)
        if _hits(after, finding.rule):
            reason = max(reason, Unfixed.NOT_GONE, key=[*Unfixed].index)
        # That older engines do not know the tag is the price of it, not a mistake.
        elif any(rule.group is not RuleGroup.PORTABILITY for rule in _news(after, known)):
            reason = Unfixed.NEW
        else:
            edits = changed_lines(template.text, marked.text)
            return FindingFix(finding, edits, proven, None, tried), marked
    return FindingFix(finding, (), None, reason, tried), template


def _proven_marks(subject: Subject, proof: EditProof, marked: ChatTemplate) -> ProvenEdit | None:
    """Return the proof that no text changes and that what the model writes is marked."""
    try:
        marked.check_syntax()
    except AutoparserError:
        return None
    if not marks_what_the_model_writes(subject.analysis, marked):
        return None
    found = proof.proven(replace(subject.rendering, text=marked.text))
    return found if found is not None and not found.changed else None


class _FixSearch:
    """Looks for the edits that fix one finding of one template."""

    def __init__(self, template: ChatTemplate, finding: LintFinding) -> None:
        self._template = template
        self._finding = finding
        self._rule = finding.rule
        self._subject = _subject(template)
        self._before = _hits(self._subject, self._rule)
        self._proof = EditProof(self._subject)
        self._asked = [*self._subject.asked]
        self._known: set[str] | None = None
        self._edits: dict[str, ChatTemplate] = {}
        self.tried = 0

    def found(self) -> tuple[tuple[TemplateEdit, ...], ProvenEdit] | Unfixed:
        """Return the smallest edits that fix the finding, or why there are none."""
        candidates = fix_candidates(self._subject, self._finding, self._template.text)
        chosen = FixCandidate(())
        reason = Unfixed.NO_EDIT
        for _ in range(MOST_STEPS):
            step, done, why = self._step(chosen, candidates)
            reason = max(reason, why, key=[*Unfixed].index)
            if step is None:
                break
            if done is not None:
                return self._least(step, done)
            chosen = step
        return reason

    def _step(
        self, chosen: FixCandidate, candidates: Sequence[FixCandidate]
    ) -> tuple[FixCandidate | None, ProvenEdit | None, Unfixed]:
        """Return the nearest candidate that fixes the finding, or the one that mends most."""
        base = [*self._outcomes(self._edited(chosen))]
        partial: list[tuple[int, FixCandidate]] = []
        reason = Unfixed.NO_EDIT
        apart = [each for each in candidates if not each.overlaps(chosen)][:MOST_TRIED]
        for at in range(0, len(apart), AT_ONCE):
            both = [chosen.and_also(each) for each in apart[at : at + AT_ONCE]]
            self.tried += len(both)
            touching = [each for each in both if self._differs(self._edited(each), base)]
            for each in sorted(touching, key=lambda it: it.size):
                why, proof = self._judged(self._edited(each))
                if why is None:
                    return each, proof, reason
                reason = max(reason, why, key=[*Unfixed].index)
                if proof is not None and proof.better:
                    partial.append((proof.better, each))
        best = max(partial, key=lambda it: (it[0], -it[1].size), default=None)
        return (None if best is None else best[1]), None, reason

    def _judged(self, template: ChatTemplate) -> tuple[Unfixed | None, ProvenEdit | None]:
        """Say what is in the way of an edited template, None for nothing, and what is proven."""
        proof = self._proof.proven(template)
        if proof is None:
            return Unfixed.NOT_PROVEN, None
        if not self._gone(template):
            return Unfixed.NOT_GONE, proof
        return (Unfixed.NEW, None) if self._worse(template) else (None, proof)

    def _differs(self, template: ChatTemplate, base: Sequence[str | None]) -> bool:
        try:
            template.check_syntax()
        except AutoparserError:
            return False
        return any(one != other for one, other in zip(self._outcomes(template), base, strict=True))

    def _outcomes(self, template: ChatTemplate) -> Iterator[str | None]:
        for asked in self._asked:
            try:
                yield template.render_prepared(asked.variables)
            except TemplateRenderError:
                yield None

    def _gone(self, template: ChatTemplate) -> bool:
        """Whether the rule finds less in an edited template."""
        try:
            subject = _subject(template)
        except AutoparserError:
            return False
        hits = _hits(subject, self._rule)
        return hits is not None and len(hits) < len(self._before or ())

    def _worse(self, template: ChatTemplate) -> bool:
        """Whether a rule finds something that it did not find before."""
        if self._known is None:
            self._known = _codes(self._subject)
        return bool(_news(_subject(template), self._known))

    def _least(
        self, chosen: FixCandidate, proof: ProvenEdit
    ) -> tuple[tuple[TemplateEdit, ...], ProvenEdit]:
        """Leave out each edit without which the finding goes, too, and all is as right."""
        kept = chosen
        for edit in chosen.edits if len(chosen.edits) > 1 else ():
            fewer = FixCandidate(tuple(each for each in kept.edits if each != edit))
            template = self._edited(fewer)
            found = self._proof.proven(template) if fewer.edits else None
            if found is not None and self._gone(template) and not self._worse(template):
                kept, proof = fewer, found
        return tuple(sorted(kept.edits)), proof

    def _edited(self, candidate: FixCandidate) -> ChatTemplate:
        text = edited(self._template.text, candidate.edits)
        if text not in self._edits:
            self._edits[text] = replace(self._subject.rendering, text=text)
        return self._edits[text]


def _hits(subject: Subject, rule: Rule) -> list[str] | None:
    """Return what a rule finds; None where it cannot look."""
    if not subject.has(rule.needs):
        return None
    return [hit.message for hit in rule.check(subject)]


def _codes(subject: Subject) -> set[str]:
    """Return the codes of all that is found, whatever covers it."""
    report = lint(subject)
    return {code for each in report.findings for code in (each.code, *each.also)}


def _news(subject: Subject, known: set[str]) -> set[Rule]:
    """Return the rules that find what is not known, for itself and not as a part of what is."""
    return {each.rule for each in lint(subject).findings if each.code not in known}
