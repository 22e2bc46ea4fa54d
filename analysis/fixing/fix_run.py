"""Fixing the templates of many sources, each in a worker within its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import SourceKind
from autoparser.analysis.lint import rule_of
from autoparser.analysis.lint.project import Problem, ProjectSettings
from autoparser.analysis.lint.project.gathering import gather
from autoparser.analysis.lint.project.parallel import in_order
from autoparser.analysis.lint.project.problem import problem_of
from autoparser.analysis.lint.project.target_loading import Target, load_targets
from autoparser.analysis.loading.isolation import Limits
from autoparser.analysis.loading.template import ChatTemplate

from .fix import FixedTemplate, fix_template

__all__ = ["FixRequest", "FixRun", "FixTarget", "fix_sources"]


@dataclass(frozen=True, slots=True)
class FixRequest:
    """What is to be fixed, and of which rules."""

    sources: tuple[str, ...]
    rules: tuple[str, ...]
    """Codes."""
    settings: ProjectSettings
    revision: str | None = None
    jobs: int = 1
    limits: Limits | None = None
    template_place: str | None = None
    """Where the template of a saved format is; None takes the place where it was."""


@dataclass(frozen=True, slots=True)
class FixTarget:
    """A template of a source, and what was done about its findings."""

    path: str
    name: str | None
    """Its name where its source has several."""
    writable: bool
    """Whether the file holds the template's text and nothing else."""
    fixed: FixedTemplate


@dataclass(frozen=True, slots=True)
class FixRun:
    """What became of all templates."""

    templates: tuple[FixTarget, ...]
    problems: tuple[Problem, ...]

    @property
    def changed(self) -> bool:
        """Whether any template was fixed in anything."""
        return any(each.fixed.changed for each in self.templates)


def fix_sources(
    request: FixRequest, progress: Callable[[int], Callable[[], object]] | None = None
) -> FixRun:
    """Fix every template of the sources; what cannot be looked at is a problem of the run."""
    settings = request.settings
    sources, wrong = gather(request.sources, settings.exclude, settings.root)
    targets, unread = load_targets(sources, request.revision, request.template_place)
    answers = in_order(
        partial(_fixed, request.rules),
        [target.template for target in targets],
        request.jobs,
        limits=request.limits,
        failed=lambda error: error,
        progress=progress or (lambda _: lambda: None),
    )
    problems = [*wrong, *unread]
    found: list[FixTarget] = []
    for target, answer in zip(targets, answers, strict=True):
        if isinstance(answer, AutoparserError):
            problems.append(problem_of(answer, target.path))
        else:
            found.append(FixTarget(target.path, target.name, _writable(target), answer))
    return FixRun(tuple(found), tuple(problems))


def _fixed(codes: Sequence[str], template: ChatTemplate) -> FixedTemplate | AutoparserError:
    try:
        return fix_template(template, [rule_of(code) for code in codes])
    except AutoparserError as error:
        return error


def _writable(target: Target) -> bool:
    source = target.template.source
    read = source is not None and source.kind in (SourceKind.FILE, SourceKind.DIRECTORY)
    return read and target.in_lines and target.template.origin == target.path
