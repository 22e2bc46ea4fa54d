"""Exporting real templates: what a response template expresses of each, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser import AutoparserError
from autoparser.analysis.export.response_template import (
    response_template,
    transformers_parser,
    try_out,
)

from .each_template import of_each
from .outcomes import PROCESSES, analysis_at


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of one template's export."""

    name: str
    limits: tuple[str, ...]
    """What is not expressed: the part, and why."""
    passed: int
    promised: int
    left_out: int
    first: str = ""
    """The first message that came back otherwise, and how."""

    @property
    def kept(self) -> bool:
        """Whether all came back that the export promises."""
        return self.passed == self.promised


def export_of(path: Path) -> Exported | None:
    """Export a template, and let transformers read it; None where the analysis does not hold."""
    parse = transformers_parser()
    assert parse is not None, "transformers is a test requirement"
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    if analysis.check.failures:
        return None
    export = response_template(analysis.formats.united)
    trial = try_out(analysis.formats.united, export, parse, analysis.prober())
    limits = tuple(f"{limit.piece}: {limit.reason}" for limit in export.limits)
    first = ""
    if trial.mismatches:
        found = trial.mismatches[0]
        first = f"{found.title}: {found.expected} came back as {found.found}{found.error}"
    return Exported(path.stem, limits, trial.passed, trial.total, trial.left_out, first)


def exports(paths: Sequence[Path], processes: int = PROCESSES) -> list[Exported]:
    """Export every template whose self-check passes."""
    return of_each(export_of, paths, processes, chunk=16)


def export_table(found: Sequence[Exported]) -> str:
    """Lay out how many are expressed whole, what the others lack, and what came back."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[Exported]) -> Iterator[str]:
    whole = [each for each in found if not each.limits]
    part = [each for each in found if each.limits]
    yield f"{len(found):>6}  templates whose self-check passes"
    yield from _group("are exported whole", whole)
    yield from _group("are exported in part", part)
    reasons = {reason: None for each in part for reason in each.limits}
    for reason in sorted(reasons):
        lacking = [each.name for each in part if reason in each.limits]
        yield f"{len(lacking):>6}  {reason}"
        yield from (f"{'':8}  {name}" for name in lacking)
    for each in found:
        if not each.kept:
            yield f"{'':8}  {each.name}: {each.passed} of {each.promised}, first: {each.first}"


def _group(words: str, found: Sequence[Exported]) -> Iterator[str]:
    yield f"{len(found):>6}  {words}"
    passed, promised = sum(each.passed for each in found), sum(each.promised for each in found)
    left_out = sum(each.left_out for each in found)
    kept = sum(each.kept for each in found)
    yield f"{kept:>6}    of these give back every message that they promise"
    yield f"{passed:>6}    of {promised} promised messages came back"
    if left_out:
        yield f"{left_out:>6}    messages have a part that is not expressed"
