"""The forms in which findings are written, by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError, suggest

from .distribution import DISTRIBUTION
from .output import PLAIN_WIDTH

if TYPE_CHECKING:
    from rich.text import Text

    from autoparser.analysis.lint.inspection import LintRun

__all__ = ["Format", "ReportDetail", "reports_of", "written"]


class Format(StrEnum):
    """What findings can be written as."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class ReportDetail:
    """How much a report for people shows."""

    statistics: bool = False
    explain: bool = False
    evidence: bool = False

    def report(self, run: LintRun, width: int) -> Text:
        """Return the report for a terminal of this width."""
        from autoparser.reports.lint import lint_report, statistics_report

        if self.statistics:
            return statistics_report(run, width)
        return lint_report(run, width, evidence=self.evidence, explain=self.explain)


def reports_of(given: Sequence[str], output: Path | None) -> list[tuple[Format, Path]]:
    """Read ``FORMAT=FILE`` texts. Raises AutoparserError for what is none, and for a file twice."""
    found: list[tuple[Format, Path]] = []
    for each in given:
        form, equals, file = each.partition("=")
        if not equals or not file:
            raise AutoparserError(
                f"{each!r} is not a report",
                hint="give --report FORMAT=FILE, as in sarif=lint.sarif",
            )
        if form not in [*Format]:
            hint = suggest(form, Format, f"there are {', '.join(Format)}")
            raise AutoparserError(f"there is no format {form!r}", hint=hint)
        path = Path(file)
        if path == output or any(path == other for _, other in found):
            raise AutoparserError("two reports go to this file", file=file, hint="name another")
        found.append((Format(form), path))
    return found


def written(run: LintRun, form: Format, shown: ReportDetail) -> str:
    """Return the text of a file in this form."""
    from autoparser.reports.lint import (
        concise_report,
        github_report,
        junit_report,
        lint_document,
        markdown_report,
        sarif_report,
    )

    match form:
        case Format.TEXT:
            return f"{shown.report(run, PLAIN_WIDTH).plain}\n"
        case Format.CONCISE:
            return concise_report(run)
        case Format.JSON:
            # ASCII alone: no reader and no terminal takes it for anything else.
            return json.dumps(lint_document(run), indent=2, allow_nan=False) + "\n"
        case Format.SARIF:
            return sarif_report(run, __version__, _pages())
        case Format.GITHUB:
            return github_report(run)
        case Format.JUNIT:
            return junit_report(run)
        case Format.MARKDOWN:
            return markdown_report(run)


def _pages() -> str | None:
    """Give where the rules' pages are, from the URL that the package names as its documentation."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        listed = metadata(DISTRIBUTION).get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    urls = dict(each.split(", ", 1) for each in listed if ", " in each)
    home = urls.get("Documentation")
    return None if home is None else f"{home.rstrip('/')}/rules"
