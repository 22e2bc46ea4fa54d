"""The history of a template: each revision compared with the one before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.sources.template_revisions import TemplateRevision

from .comparison import Comparison, compare_templates

RevisionProgress = Callable[[int, int], object]
"""Called with the number of revisions done and of all."""


@dataclass(frozen=True, slots=True)
class RevisionChange:
    """A revision, and its difference from the one before it."""

    revision: TemplateRevision
    """The revision, with its template if it could be read."""
    comparison: Comparison | None = None
    """The difference, or None for the first revision, and if it or the one before has no
    analysis."""
    problem: str = ""
    """The reason if this revision has no analysis, e.g. `"line 3: unexpected '}'"`."""


def compare_history(
    revisions: Sequence[TemplateRevision],
    setting: Setting | None = None,
    progress: RevisionProgress | None = None,
) -> list[RevisionChange]:
    """Return the change of each revision, in the order given, the newest first.

    `setting` is set in every render and round trip, as by `compare_templates`.
    """
    changes: list[RevisionChange] = []
    before: Analysis | str = ""
    # Oldest first, so that each revision is analyzed once and compared with its predecessor.
    for done, revision in enumerate(reversed(revisions)):
        if progress is not None:
            progress(done, len(revisions))
        result = _analyze_revision(revision)
        changes.append(_change_from(revision, result, before, setting))
        before = result
    return changes[::-1]


def _analyze_revision(revision: TemplateRevision) -> Analysis | str:
    """Return the analysis of a revision, or the reason if there is none."""
    if revision.template is None:
        return revision.problem
    try:
        return analyze(revision.template, isolate=False)
    except AutoparserError as error:
        return ": ".join(filter(None, (error.place, error.message)))


def _change_from(
    revision: TemplateRevision,
    result: Analysis | str,
    before: Analysis | str,
    setting: Setting | None,
) -> RevisionChange:
    if isinstance(result, str):
        return RevisionChange(revision, problem=result)
    if isinstance(before, str):
        return RevisionChange(revision)
    return RevisionChange(revision, compare_templates(before, result, setting))
