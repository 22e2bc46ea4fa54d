"""Fix findings of lint by the smallest edits of the template that renders prove right.

For each finding, edits are tried alone, then in combination. Edits must change the text that the
rule looked at; of these, the smallest wins after which the rule finds less, every conversation of
the proof is unchanged or better, and no rule finds anything new. Edits are safe if the findings
cover every render that they change. Unsafe ones are searched only if no safe ones help, and applied
only on request. For content that is stripped, the edit is the removal of `| trim`.

For `<|{{ m.role }}|>{{ m.content | trim }}<|end|>` and the finding that user content is stripped:

    edits    " | trim" is removed
    proof    conversations with whitespace around a text change, each for the better
    reason   UNSAFE: the edit also fixes other speakers' texts, which this finding does not name
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path

from msgspec import structs

from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.core.provenance import SourceKind
from autoparser.analysis.lint.inspection import InspectedTemplate
from autoparser.analysis.lint.linting import LintFinding, lint
from autoparser.analysis.lint.project_run import LintRequest, answers_in_order, lint_project
from autoparser.analysis.lint.project_sources import InputProblem, input_problem
from autoparser.analysis.lint.registry import all_rules, run_check
from autoparser.analysis.lint.rule import TRAINED, MendedFault, Rule, RuleGroup
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.local_files import read_path
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.sandbox_kind import SandboxKind
from autoparser.analysis.templates.template_edits import (
    TemplateEdit,
    apply_edits,
    changed_lines,
    in_line_ends,
    in_newlines,
    spans_after,
)

from .edit_candidates import FixCandidate, fix_candidates
from .edit_proof import EditProof, ProvenEdit
from .generation_blocks import marked_templates, marks_what_the_model_writes
from .tidied_edits import own_lines, tidy_template

# The cached renders and findings of one template and its edited versions. Several findings are
# tried with the same edits, and renders do not depend on the finding, so all findings of a template
# share one `TemplateTrials`.


MOST_SUBJECTS = 24
"""The number of edited templates kept with all renders of their rules."""

MOST_COMPILED = 400
"""The number of edited templates kept compiled."""


class TemplateTrials:
    """A template, and the effects of edits on it."""

    def __init__(self, template: ChatTemplate, mends: Sequence[MendedFault] | None = None) -> None:
        """Analyze a template to fix these faults, or all if None.

        Raises AutoparserError if the analysis fails.
        """
        self.template = template
        self.subject = Subject(template)
        _ = self.subject.analysis
        self.proof = EditProof(self.subject, mends)
        self.with_text = lru_cache(MOST_COMPILED)(self._with_text)
        self._proven: dict[str, ProvenEdit | None] = {}
        self._analyzed = lru_cache(MOST_SUBJECTS)(self._analyze)
        self._news: dict[str, frozenset[Rule]] = {}
        self._before: dict[Rule, int] = {}
        """The number of each rule's hits in the unedited template."""

    def looked_at(self, rule: Rule) -> Subject:
        """Return the template after a single rule ran on it, without renders of others."""
        subject = Subject(self.template, analysis=self.subject.analysis)
        self._before[rule] = len(messages_of_rule(subject, rule) or ())
        return subject

    def edit_template(self, edits: Sequence[TemplateEdit]) -> ChatTemplate:
        """Return the edited template, compiled at most once."""
        return self.with_text(apply_edits(self.template.text, edits))

    def edit_in_sandbox(self, edits: Sequence[TemplateEdit]) -> ChatTemplate:
        """Return the edited template in its original sandbox."""
        return replace(self.template, text=apply_edits(self.template.text, edits))

    def _with_text(self, text: str) -> ChatTemplate:
        """Return the template with another text; `with_text` caches it."""
        return replace(self.subject.rendering, text=text)

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Return whether both render every conversation of the proof to the same text."""
        return self.proof.alike(one, other)

    def prove_edits(self, edits: Sequence[TemplateEdit]) -> ProvenEdit | None:
        """Return the cached proof of edits, or None if something is worse."""
        template = self.edit_template(edits)
        if template.text not in self._proven:
            self._proven[template.text] = self.proof.prove_edits(template, edits)
        return self._proven[template.text]

    def finds_less(self, template: ChatTemplate, rule: Rule) -> bool:
        """Return whether a rule has fewer hits in an edited template."""
        subject = self._analyzed(template.text, template.sandbox)
        hits = None if subject is None else messages_of_rule(subject, rule)
        if rule not in self._before:
            _ = self.looked_at(rule)
        return hits is not None and len(hits) < self._before[rule]

    def news(self, template: ChatTemplate) -> frozenset[Rule]:
        """Return the rules with new findings in an edited template.

        Consequences of earlier findings are not new.
        """
        if template.text not in self._news:
            subject = self._analyzed(template.text, template.sandbox)
            self._news[template.text] = frozenset() if subject is None else self._new_rules(subject)
        return self._news[template.text]

    def _new_rules(self, subject: Subject) -> frozenset[Rule]:
        firing = (rule for rule in all_rules() if rule.default and messages_of_rule(subject, rule))
        # Only a rule that did not fire before needs lint itself, which merges findings of one
        # cause.
        if all(rule.code in self._found_codes for rule in firing):
            return frozenset()
        return frozenset(
            finding.rule
            for finding in lint(subject).findings
            if finding.code not in self._found_codes
        )

    @cached_property
    def _found_codes(self) -> frozenset[str]:
        """The codes of all findings in the template, merged ones included."""
        found = lint(self.subject).findings
        return frozenset(code for finding in found for code in (finding.code, *finding.also))

    def _analyze(self, text: str, sandbox: SandboxKind) -> Subject | None:
        """Analyze an edited template, or return None if that fails."""
        subject = Subject(replace(self.template, text=text, sandbox=sandbox))
        try:
            _ = subject.analysis
        except AutoparserError:
            return None
        return subject


def messages_of_rule(subject: Subject, rule: Rule) -> list[str] | None:
    """Return the messages of a rule's hits, or None if it cannot run."""
    if not subject.has(rule.needs):
        return None
    return [hit.message for hit in run_check(rule, subject)]


MOST_STEPS = 4
"""The maximum number of combined candidates for a finding."""
AT_ONCE = 24
"""The number of candidates that are tried in order of size before more distant ones."""
MOST_TRIED = 240
"""The maximum number of tried candidates at each step."""


class UnfixedReason(StrEnum):
    """The reason for which a finding stays."""

    NO_EDIT = "no edit tried changes the text that the rule checks"
    NOT_PROVEN = "no edit tried removes the finding and keeps all correct renders"
    NOT_GONE = "no edit tried removes the finding without other changes"
    NEW = "every edit that removes the finding and keeps all correct renders causes a new one"
    MISSING = "no edits are known for this rule"
    NOT_FINISHED = "a limit stopped the search"
    UNSAFE = "its fix also changes renders without a finding"


@dataclass(frozen=True, slots=True)
class FindingFix:
    """A finding, and the outcome of fixing it."""

    finding: LintFinding
    """The finding, e.g. ``<LintFinding AP506 error line 23: …>``."""
    edits: tuple[TemplateEdit, ...] = ()
    """The edits of the text before this fix, e.g. ``(TemplateEdit(934, 948, "(call.arguments if
    …)"),)``; empty if none helps."""
    proof: ProvenEdit | None = None
    """The proof of the edits, applied or not, e.g. one with 508 conversations, 12 of them changed.
    """
    reason: UnfixedReason | None = None
    """Why the finding stays, e.g. ``UnfixedReason.MISSING``, or None if it is fixed."""
    tried: int = 0
    """The number of tried edits, e.g. 13."""
    caused: tuple[str, ...] = ()
    """Codes of new findings that rejected edits cause, e.g. ``("AP803",)``."""

    @property
    def hidden(self) -> bool:
        """Whether `--unsafe-fixes` would fix it."""
        return self.reason is UnfixedReason.UNSAFE

    @property
    def why(self) -> str:
        """Why the finding stays, in words; empty if it is fixed."""
        if self.reason is UnfixedReason.MISSING:
            return f"{self.finding.code} has no automatic fix: {self.finding.why_unfixed}"
        caused = f", of {', '.join(self.caused)}" if self.reason is UnfixedReason.NEW else ""
        return f"{self.reason or ''}{caused}"


@dataclass(frozen=True, slots=True)
class FixedTemplate:
    """A template before and after, with the outcome for each finding."""

    original: ChatTemplate
    """The unedited template, e.g. ``<ChatTemplate of fixtures/lint/AP405/fires.jinja: 4 lines>``.
    """
    template: ChatTemplate
    """The template with all applied edits, e.g. one of 35 lines."""
    fixes: tuple[FindingFix, ...]
    """The outcomes, in the order of the findings, e.g. AP506 first."""

    @property
    def changed(self) -> bool:
        """Whether anything was fixed."""
        return self.template.text != self.original.text


def fix_template(
    template: ChatTemplate, findings: Sequence[LintFinding], *, unsafe: bool = False
) -> FixedTemplate:
    """Fix these findings of a template, by safe edits or also by unsafe ones.

    Raises AutoparserError if the template cannot be analyzed, or is an encoder in Python.
    """
    if template.source is not None and template.source.ran_code:
        raise AutoparserError("an encoder in Python has no template to edit", file=template.origin)
    text = in_newlines(template.text)
    asked = dict.fromkeys(fault for finding in findings for fault in finding.rule.mends)
    # No render shows whether the model was trained with these faults, so that fixing them is never
    # safe.
    mends = tuple(fault for fault in asked if fault.kind not in TRAINED)
    known = replace(template, text=text)
    trials: TemplateTrials | None = None
    fixes: list[FindingFix] = []
    for finding in findings:
        if not finding.rule.fixable:
            fixes.append(FindingFix(finding, reason=UnfixedReason.MISSING))
            continue
        # Analyze only if needed: in many templates nothing is fixable.
        trials = TemplateTrials(known, mends) if trials is None else trials
        if known.text != text and messages_of_rule(trials.subject, finding.rule) == []:
            # An earlier fix has fixed this, too.
            fixes.append(FindingFix(finding))
            continue
        fixes.append(_fix_finding(trials, finding, unsafe=unsafe))
        if fixes[-1].reason is None:
            # Fix the next finding in the edited template, whose renders differ from the original's.
            known, trials = trials.edit_in_sandbox(fixes[-1].edits), None
    if known.text == text:
        return FixedTemplate(template, template, tuple(fixes))
    subject = Subject(known) if trials is None else trials.subject
    # A finding without its own fix may disappear after the fix of another.
    done = [replace(fix, reason=None) if _went_along(fix, subject) else fix for fix in fixes]
    fixed = replace(template, text=in_line_ends(known.text, template.text))
    return FixedTemplate(template, fixed, tuple(done))


def _went_along(fix: FindingFix, subject: Subject) -> bool:
    """Return whether a later fix removed an unfixable finding."""
    return fix.reason is not None and messages_of_rule(subject, fix.finding.rule) == []


def _fix_finding(trials: TemplateTrials, finding: LintFinding, *, unsafe: bool) -> FindingFix:
    if finding.rule.marks:
        return _mark_generation(trials, finding)
    search = _FixSearch(trials, finding)
    found = search.find_edits()
    if isinstance(found, UnfixedReason):
        caused = tuple(sorted(search.caused))
        return FindingFix(finding, reason=found, tried=search.trial_count, caused=caused)
    edits = search.tidy(found)
    # All conversations, not only those that seem to reach the edits.
    proof = trials.proof.prove_edits(trials.edit_template(edits))
    if proof is None:
        # The edit changes a conversation that did not seem to reach it.
        return FindingFix(finding, reason=UnfixedReason.NOT_PROVEN, tried=search.trial_count)
    hidden = None if unsafe or proof.safe else UnfixedReason.UNSAFE
    return FindingFix(finding, edits, proof, hidden, search.trial_count)


def _mark_generation(trials: TemplateTrials, finding: LintFinding) -> FindingFix:
    """Write generation blocks, which change no text."""
    subject, tried, reason = trials.subject, 0, UnfixedReason.NO_EDIT
    caused: set[str] = set()
    text = trials.template.text
    found = (_lay_out(template, text) for template in marked_templates(subject.analysis))
    for marked in chain.from_iterable(found):
        tried += 1
        proven = _proven_marks(trials, marked)
        if proven is None:
            reason = max(reason, UnfixedReason.NOT_PROVEN, key=[*UnfixedReason].index)
        elif not trials.finds_less(marked, finding.rule):
            reason = max(reason, UnfixedReason.NOT_GONE, key=[*UnfixedReason].index)
        # Older engines do not know the tag: that is the expected price.
        elif news := [
            rule.code for rule in trials.news(marked) if rule.group is not RuleGroup.PORTABILITY
        ]:
            reason, caused = UnfixedReason.NEW, caused | set(news)
        else:
            edits = changed_lines(text, marked.text)
            return FindingFix(finding, edits, proven, None, tried)
    return FindingFix(finding, reason=reason, tried=tried, caused=tuple(sorted(caused)))


def _lay_out(marked: ChatTemplate, text: str) -> Iterator[ChatTemplate]:
    """Yield a marked template with its new tags on lines of their own, then unchanged."""
    lines = own_lines(marked.text, spans_after(changed_lines(text, marked.text)))
    if lines:
        yield replace(marked, text=apply_edits(marked.text, lines))
    yield marked


def _proven_marks(trials: TemplateTrials, marked: ChatTemplate) -> ProvenEdit | None:
    """Return the proof that no text changes and exactly the model's text is marked."""
    try:
        marked.check_syntax()
    except AutoparserError:
        return None
    subject = trials.subject
    if not marks_what_the_model_writes(subject.analysis, marked):
        return None
    found = trials.proof.prove_unchanged(replace(subject.rendering, text=marked.text))
    return found if isinstance(found, ProvenEdit) else None


class _FixSearch:
    """Searches edits that fix one finding of one template."""

    def __init__(self, trials: TemplateTrials, finding: LintFinding) -> None:
        self._trials = trials
        self._finding = finding
        self._text = trials.template.text
        self._looked_at = trials.looked_at(finding.rule)
        self._past_renders = [*self._looked_at.past_renders]
        self._only_safe = True
        self._unsafe_seen = False
        """Whether an unsafe edit was rejected that would have passed."""
        self.trial_count = 0
        self.caused: set[str] = set()
        """Codes of the new findings of edits that would have passed otherwise."""

    def find_edits(self) -> tuple[TemplateEdit, ...] | UnfixedReason:
        """Return the smallest edits that fix the finding, safe ones first, or why none do."""
        candidates = fix_candidates(self._looked_at, self._finding, self._text)
        found = self._search(candidates)
        # Safe edits are searched in full first: a larger safe edit is better than a small unsafe
        # one.
        if isinstance(found, UnfixedReason) and self._unsafe_seen:
            self._only_safe = False
            found = self._search(candidates)
        return found

    def _search(
        self, candidates: Sequence[FixCandidate]
    ) -> tuple[TemplateEdit, ...] | UnfixedReason:
        chosen = FixCandidate(())
        reason = UnfixedReason.NO_EDIT
        for _ in range(MOST_STEPS):
            step, done, why = self._step(chosen, candidates)
            reason = max(reason, why, key=[*UnfixedReason].index)
            if step is None:
                break
            if done:
                return self._least(step)
            chosen = step
        return reason

    def tidy(self, edits: tuple[TemplateEdit, ...]) -> tuple[TemplateEdit, ...]:
        """Return the edits in their simplest form."""
        plainer = tidy_template(self._text, edits, self._trials)
        if plainer.text == self._trials.edit_template(edits).text:
            return edits
        lines = changed_lines(self._text, plainer.text)
        # Tidying may move the edit to other parts of the template, so it is proven like any other.
        return edits if self._in_the_way(lines) else lines

    def _step(
        self, chosen: FixCandidate, candidates: Sequence[FixCandidate]
    ) -> tuple[FixCandidate | None, bool, UnfixedReason]:
        """Return the nearest candidate that fixes the finding, or else the one that fixes most."""
        base = [*self._outcomes(self._trials.edit_template(chosen.edits))]
        partial: list[tuple[int, FixCandidate]] = []
        reason = UnfixedReason.NO_EDIT
        apart = [candidate for candidate in candidates if not candidate.overlaps(chosen)][
            :MOST_TRIED
        ]
        # Nearest first in groups, the smallest first within one: a tiny edit far away is rarely the
        # right one.
        for at in range(0, len(apart), AT_ONCE):
            joined = [chosen.and_also(candidate) for candidate in apart[at : at + AT_ONCE]]
            for candidate in sorted(joined, key=lambda candidate: candidate.size):
                # The second search, for unsafe edits, tries the same candidates again.
                self.trial_count += self._only_safe
                # Cheapest first: an edit that changes none of the rule's renders cannot remove its
                # finding, and needs no proof.
                if not self._differs(self._trials.edit_template(candidate.edits), base):
                    continue
                why = self._in_the_way(candidate.edits)
                if why is None:
                    return candidate, True, reason
                reason = max(reason, why, key=[*UnfixedReason].index)
                proof = self._trials.prove_edits(candidate.edits)
                # An improvement that does not remove the finding may be completed by another edit.
                if why is UnfixedReason.NOT_GONE and proof is not None and proof.better:
                    partial.append((proof.better, candidate))
        best = max(partial, key=lambda scored: (scored[0], -scored[1].size), default=None)
        return (None if best is None else best[1]), False, reason

    def _in_the_way(self, edits: Sequence[TemplateEdit]) -> UnfixedReason | None:
        """Return why edits are rejected, or None."""
        template = self._trials.edit_template(edits)
        proof = self._trials.prove_edits(edits)
        if proof is None:
            return UnfixedReason.NOT_PROVEN
        if self._only_safe and not proof.safe:
            self._unsafe_seen = True
            return UnfixedReason.UNSAFE
        if proof.halfway or not self._trials.finds_less(template, self._finding.rule):
            return UnfixedReason.NOT_GONE
        news = self._trials.news(template)
        self.caused |= {rule.code for rule in news}
        return UnfixedReason.NEW if news else None

    def _differs(self, template: ChatTemplate, base: Sequence[str | None]) -> bool:
        try:
            template.check_syntax()
        except AutoparserError:
            return False
        return any(one != other for one, other in zip(self._outcomes(template), base, strict=True))

    def _outcomes(self, template: ChatTemplate) -> Iterator[str | None]:
        for asked in self._past_renders:
            try:
                yield template.render_prepared(asked.variables)
            except TemplateRenderError:
                yield None

    def _least(self, chosen: FixCandidate) -> tuple[TemplateEdit, ...]:
        """Return the candidate's edits without the unnecessary ones."""
        kept = chosen.edits
        for edit in chosen.edits if len(chosen.edits) > 1 else ():
            fewer = tuple(other for other in kept if other != edit)
            if fewer and self._in_the_way(fewer) is None:
                kept = fewer
        return tuple(sorted(kept))


# Fix the findings in the templates of many sources, each in a worker within its limits.


def _own_file(inspected: InspectedTemplate) -> Path | None:
    """Return the file that holds the template's text and nothing else, or None without one."""
    source, origin = inspected.template.source, inspected.template.origin
    read = source is not None and source.kind in (SourceKind.FILE, SourceKind.DIRECTORY)
    return Path(origin) if read and inspected.in_lines and origin is not None else None


def _with_line_ends(inspected: InspectedTemplate) -> InspectedTemplate:
    """Return the template with its file's line ends, which a read text does not have."""
    file = _own_file(inspected)
    try:
        text = "" if file is None else read_path(file, noted=False).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return inspected
    # A file that has changed since the template was read keeps nothing to compare.
    if in_newlines(text) != inspected.text:
        return inspected
    return structs.replace(inspected, template=replace(inspected.template, text=text))


@dataclass(frozen=True, slots=True)
class FixTarget:
    """A template of a source, with the outcome for its findings."""

    inspected: InspectedTemplate
    """The result of linting it, e.g. one with a finding of AP206."""
    fixed: FixedTemplate
    """The result of fixing it, e.g. one with the fix of AP206."""

    @property
    def writable(self) -> bool:
        """Whether the file holds the template's text and nothing else."""
        return _own_file(self.inspected) is not None


@dataclass(frozen=True, slots=True)
class FixRun:
    """The results for all templates."""

    templates: tuple[FixTarget, ...]
    """The templates that could be inspected, e.g. ``fixtures/lint/AP206/fires.jinja``."""
    problems: tuple[InputProblem, ...]
    """Inputs and templates that failed, e.g. ``(InputProblem("ign.jinja", "an ignore comment
    without a rule", …),)``."""

    @property
    def fixes(self) -> tuple[FindingFix, ...]:
        """The outcomes for all findings."""
        return tuple(fix for template in self.templates for fix in template.fixed.fixes)

    @property
    def changed(self) -> bool:
        """Whether any template changed."""
        return any(template.fixed.changed for template in self.templates)

    @property
    def remaining(self) -> int:
        """The number of findings that stay after all changes."""
        return sum(fix.reason is not None for fix in self.fixes)


def fix_sources(
    request: LintRequest,
    progress: Callable[[int], Callable[[], object]] | None = None,
    *,
    unsafe: bool = False,
    lint_progress: Callable[[int], Callable[[], object]] | None = None,
) -> FixRun:
    """Fix the findings of a lint run, and report inputs that fail as its problems.

    If a limit ends the search in a template, it stays unchanged, and its findings are marked not
    finished.
    """
    run = lint_project(request, lint_progress)
    answers = answers_in_order(
        partial(_fix_inspected, unsafe=unsafe),
        [*map(_with_line_ends, run.templates)],
        request.jobs,
        limits=request.limits,
        failed=lambda error: error,
        progress=progress or (lambda _: lambda: None),
    )
    problems = [*run.problems]
    found: list[FixTarget] = []
    for inspected, answer in zip(run.templates, answers, strict=True):
        if isinstance(answer, AutoparserError):
            problem = input_problem(answer, inspected.path)
            problems.append(structs.replace(problem, message=f"not finished: {problem.message}"))
            stay = tuple(
                FindingFix(finding, reason=UnfixedReason.NOT_FINISHED)
                for finding in inspected.findings
            )
            found.append(
                FixTarget(inspected, FixedTemplate(inspected.template, inspected.template, stay))
            )
        else:
            found.append(FixTarget(inspected, answer))
    return FixRun(tuple(found), tuple(problems))


def _fix_inspected(
    inspected: InspectedTemplate, *, unsafe: bool
) -> FixedTemplate | AutoparserError:
    try:
        return fix_template(inspected.template, inspected.findings, unsafe=unsafe)
    except AutoparserError as error:
        return error
