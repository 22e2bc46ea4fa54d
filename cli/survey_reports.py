"""The folder of ``survey --reports``: a page a template, and the index that leads to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError

if TYPE_CHECKING:
    from autoparser.analysis.overview.survey import Record, Summary

__all__ = ["INDEX", "SurveyReports", "reports_in"]

INDEX = "index.html"
LONGEST = 60
"""Characters of a page's name that say what it is about; those of its digest come on top."""


@dataclass(frozen=True, slots=True)
class SurveyReports:
    """A folder of pages. Every method raises AutoparserError where it cannot be written."""

    folder: Path

    def has(self, source: str, digest: str) -> bool:
        """Whether the page of this very text is there."""
        return (self.folder / page_name(source, digest)).is_file()

    def write(self, record: Record, page: str) -> None:
        """Write a template's own page."""
        self._write(page_name(record.source, record.sha256), page)

    def write_index(self, summary: Summary, records: Sequence[Record], version: str) -> None:
        """Write the survey's page with links to those that are there."""
        from autoparser.reports import survey_page

        pages = {
            record.source: page_name(record.source, record.sha256)
            for record in records
            if self.has(record.source, record.sha256)
        }
        self._write(INDEX, survey_page(summary, records, version, pages))

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        try:
            path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise _not_written(path, error) from None


def reports_in(folder: Path) -> SurveyReports:
    """Return the folder, made if there is none. Raises AutoparserError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from None
    return SurveyReports(folder)


def page_name(source: str, digest: str) -> str:
    """Return a file name of letters, digits and dashes, another for any other path or text.

    Example: `models/Some Model.jinja` is `some-model-` with 16 digits and `.html`. Where file
    names differ by capitals alone, systems may take them for one, so there are none.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", Path(source).stem.lower()).strip("-")[:LONGEST]
    known = hashlib.sha256(f"{source}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem or 'template'}-{known[:16]}.html"


def _not_written(path: Path, error: OSError) -> AutoparserError:
    return AutoparserError(
        f"cannot be written ({error.strerror or type(error).__name__})",
        file=str(path),
        hint="name another directory with --reports",
    )
