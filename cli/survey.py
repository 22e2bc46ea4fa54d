"""``autoparser survey``: a corpus of templates at a glance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, TextIO

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import JobsOption, OutputOption, format_option
from .output import Outlet, open_outlet, print_note, progress_bar


class SurveyForm(StrEnum):
    """The forms of a survey."""

    TEXT = "text"
    HTML = "html"


def survey(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Directories to search for templates, template files or saved formats.",
            show_default=False,
        ),
    ],
    form: Annotated[SurveyForm, format_option("text, or html for a page.")] = SurveyForm.TEXT,
    output: OutputOption = None,
    record_file: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="Keep a line of JSON for each template in this file, as docs/survey.schema.json"
            " describes it; an interrupted survey resumes from there.",
        ),
    ] = None,
    lint: Annotated[
        bool, "Also count what lint finds in each template; takes half as long again."
    ] = False,
    reports: Annotated[
        Path | None,
        "DIR",
        "Write a report for each template to this directory, and an index.html that sorts,"
        " filters and links them. Implies --lint.",
    ] = None,
    jobs: JobsOption = None,
    *,
    limits: Limits | None = None,
) -> int:
    """Summarize a directory of chat templates.

    Counts the formats, the ways to write a tool call, the switches, and the verdicts of
    self-checks and round trips.

    Exit code: 0 if the survey is complete, 2 if there is nothing to survey.
    """
    if (
        output is not None
        and record_file is not None
        and output.absolute() == record_file.absolute()
    ):
        raise AutoparserError(
            "--output and --records name the same file", hint="name another file with --output"
        )
    if reports is not None and form is SurveyForm.HTML:
        raise AutoparserError(
            f"--reports writes the page itself, as {reports / INDEX}",
            hint="leave out --format html, or --reports",
        )

    sources = wings.templates_in(places)
    pages = None if reports is None else report_folder(reports)
    wanted = _SurveyPlan(record_file, pages, linted=lint or pages is not None)
    records = _survey_records(sources, wanted, jobs or wings.usual_jobs(), limits)
    with open_outlet(output) as outlet:
        _write_survey(records, form, outlet)
    if pages is not None:
        pages.write_index(wings.summary_of(records), records, __version__)
        print_note(f"the reports begin with {pages.folder / INDEX}")
    return 0


@dataclass(frozen=True, slots=True)
class _SurveyPlan:
    """The files that a survey writes for each template."""

    record_file: Path | None
    """The file of records."""
    pages: SurveyReports | None
    linted: bool

    def is_complete(self, record: wings.SurveyRecord) -> bool:
        """Return whether an earlier survey wrote all of them."""
        if record.error:
            return True
        written = self.pages is None or self.pages.has(record.source, record.sha256)
        return written and not (self.linted and record.findings is None)

    def look(self) -> wings.SurveyLook:
        if self.pages is None:
            return wings.SurveyLook(self.linted)

        draw = partial(wings.report_page, version=__version__, index=INDEX)
        return wings.SurveyLook(self.linted, draw)


def _write_survey(records: Sequence[wings.SurveyRecord], form: SurveyForm, outlet: Outlet) -> None:
    summary = wings.summary_of(records)
    if form is SurveyForm.HTML:
        outlet.text(wings.survey_page(summary, records, __version__))
    else:
        outlet.report(wings.survey_report(summary, outlet.width))


def _survey_records(
    sources: Sequence[str], wanted: _SurveyPlan, jobs: int, limits: Limits | None
) -> list[wings.SurveyRecord]:
    file = wanted.record_file
    journal = (
        wings.SurveyJournal() if file is None else wings.journal_of(_read_records(file), str(file))
    )
    waiting = [(source, _source_digest(source)) for source in sources]
    before = {each: journal.records[each] for each in waiting if each in journal.records}
    known = {each: record for each, record in before.items() if wanted.is_complete(record)}
    if known:
        many, verb = wings.number_of(len(waiting), "template"), "was" if len(known) == 1 else "were"
        print_note(f"{len(known)} of {many} {verb} surveyed before, see {file}")
    left = [each for each in waiting if each not in known]
    with (
        # First of all: workers are forked, and the bar is drawn by a thread.
        wings.start_survey(jobs, limits, wanted.look()) as surveyed,
        _open_records(file, journal) as lines,
        progress_bar(len(left), "surveying") as advance,
    ):
        for found in surveyed(left):
            record = found.record
            known[record.source, record.sha256] = record
            if wanted.pages is not None and found.page:
                # Before its record, which says that it is there.
                wanted.pages.write(record, found.page)
            if lines is not None:
                lines.write(wings.line_of(record))
                # What is done stays done, whatever comes.
                lines.flush()
            advance()
    return [known[each] for each in waiting]


def _source_digest(source: str) -> str:
    """Return the digest of a template's text; of its file where no text can be read from it.

    A saved format is known by its file: the same template may have been learned otherwise.
    """
    try:
        return wings.text_digest(wings.load_template(source).text)
    except AutoparserError as error:
        with suppress(OSError, AutoparserError):
            return hashlib.sha256(wings.read_path(Path(source))).hexdigest()
        # What cannot be read, or is too large, is known by what is wrong with it.
        return wings.text_digest(str(error))


def _read_records(path: Path) -> bytes:
    if path.is_fifo():
        raise AutoparserError(
            "this is a named pipe, and records are read again before they are added to",
            file=str(path),
            hint="name a file with --records",
        )
    try:
        # It is this command's own, and is added to.
        return wings.read_path(path, noted=False) if path.exists() else b""
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise AutoparserError(
        f"cannot be read ({reason})", file=str(path), hint="name another file with --records"
    )


@contextmanager
def _open_records(path: Path | None, journal: wings.SurveyJournal) -> Generator[TextIO | None]:
    """Open the file after its whole lines. Raises AutoparserError."""
    if path is None:
        yield None
        return
    with wings.writing(path, "name another file with --records"):
        file = wings.open_log(path)
    with file:
        if journal.repaired:
            file.truncate(journal.size)
        yield file


INDEX = "index.html"
_OTHER_FOLDER = "name another directory with --reports"
LONGEST = 60
"""Characters of a page's name that say what it is about; those of its digest come on top."""


@dataclass(frozen=True, slots=True)
class SurveyReports:
    """A folder of pages. Every method raises AutoparserError where it cannot be written."""

    folder: Path

    def has(self, source: str, digest: str) -> bool:
        """Return whether the page of this text exists."""
        return (self.folder / page_name(source, digest)).is_file()

    def write(self, record: wings.SurveyRecord, page: str) -> None:
        """Write a template's own page."""
        self._write(page_name(record.source, record.sha256), page)

    def write_index(
        self, summary: wings.SurveySummary, records: Sequence[wings.SurveyRecord], version: str
    ) -> None:
        """Write the survey's page with links to those that are there."""
        pages = {
            record.source: page_name(record.source, record.sha256)
            for record in records
            if self.has(record.source, record.sha256)
        }
        self._write(INDEX, wings.survey_page(summary, records, version, pages))

    def _write(self, name: str, text: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        wings.write_file(self.folder / name, content, _OTHER_FOLDER)


def report_folder(folder: Path) -> SurveyReports:
    """Return the folder, made if there is none. Raises AutoparserError where it cannot be made."""
    with wings.writing(folder, _OTHER_FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
    return SurveyReports(folder)


def page_name(source: str, digest: str) -> str:
    """Return a file name of letters, digits and dashes, another for any other path or text.

    Example: `models/Some Model.jinja` is `some-model-` with 16 digits and `.html`. Where file
    names differ by capitals alone, systems may take them for one, so there are none.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", Path(source).stem.lower()).strip("-")[:LONGEST]
    known = hashlib.sha256(f"{source}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem or 'template'}-{known[:16]}.html"
