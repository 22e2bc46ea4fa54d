"""Fixing what lint shows in the templates of many sources, each in a worker within its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import SourceKind
from autoparser.analysis.lint import Hit, LintFinding, rule_of
from autoparser.analysis.lint.project import Inspected, LintRequest, LintRun, Problem, lint_project
from autoparser.analysis.lint.project.parallel import in_order
from autoparser.analysis.lint.project.problem import problem_of
from autoparser.analysis.loading.template import ChatTemplate

from .fix import FindingFix, FixedTemplate, Unfixed, fix_template

__all__ = ["FixRun", "FixTarget", "fix_sources"]


@dataclass(frozen=True, slots=True)
class FixTarget:
    """A template of a source, and what was done about its findings."""

    inspected: Inspected
    """What lint shows of it."""
    fixed: FixedTemplate

    @property
    def writable(self) -> bool:
        """Whether the file holds the template's text and nothing else."""
        source = self.fixed.original.source
        read = source is not None and source.kind in (SourceKind.FILE, SourceKind.DIRECTORY)
        return read and self.inspected.in_lines and self.fixed.original.origin is not None


@dataclass(frozen=True, slots=True)
class FixRun:
    """What became of all templates."""

    lint: LintRun
    templates: tuple[FixTarget, ...]
    problems: tuple[Problem, ...]

    @property
    def fixes(self) -> tuple[FindingFix, ...]:
        """What was done about each finding."""
        return tuple(fix for each in self.templates for fix in each.fixed.fixes)

    @property
    def changed(self) -> bool:
        """Whether any template was fixed in anything."""
        return any(each.fixed.changed for each in self.templates)

    @property
    def remaining(self) -> int:
        """How many findings stay when all changes are made."""
        return sum(fix.reason is not None for fix in self.fixes)


def fix_sources(
    request: LintRequest,
    progress: Callable[[int], Callable[[], object]] | None = None,
    *,
    unsafe: bool = False,
) -> FixRun:
    """Fix the findings that a run of lint shows; what cannot be looked at is a problem of the run.

    A template at which a limit ends the search stays as it is, and its findings are not finished.
    """
    run = lint_project(request)
    answers = in_order(
        partial(_fixed, unsafe=unsafe),
        [_task(each) for each in run.templates],
        request.jobs,
        limits=request.limits,
        failed=lambda error: error,
        progress=progress or (lambda _: lambda: None),
    )
    problems = [*run.problems]
    found: list[FixTarget] = []
    for each, answer in zip(run.templates, answers, strict=True):
        if isinstance(answer, AutoparserError):
            problem = problem_of(answer, each.path)
            problems.append(replace(problem, message=f"not finished: {problem.message}"))
            stay = tuple(FindingFix(it, reason=Unfixed.NOT_FINISHED) for it in each.findings)
            found.append(FixTarget(each, FixedTemplate(each.template, each.template, stay)))
        else:
            found.append(FixTarget(each, answer))
    return FixRun(run, tuple(found), tuple(problems))


_Found = tuple[str, Hit, tuple[str, ...]]
"""A finding without its rule, which is a function of a module: the code stands for it."""


def _task(each: Inspected) -> tuple[ChatTemplate, tuple[_Found, ...]]:
    return each.template, tuple((it.code, it.hit, it.also) for it in each.findings)


def _fixed(
    task: tuple[ChatTemplate, Sequence[_Found]], *, unsafe: bool
) -> FixedTemplate | AutoparserError:
    template, found = task
    findings = [LintFinding(rule_of(code), hit, also) for code, hit, also in found]
    try:
        return fix_template(template, findings, unsafe=unsafe)
    except AutoparserError as error:
        return error
