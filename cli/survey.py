"""``autoparser survey``: a corpus of templates at a glance."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.isolation import Limits

from .options import JobsOption, OutputOption, format_option
from .output import Outlet, keep_source, result_to, say
from .progress import progress_of

if TYPE_CHECKING:
    from autoparser.analysis.overview.survey import Journal, Record

__all__ = ["SurveyForm", "survey"]


class SurveyForm(StrEnum):
    """What a survey can be written as."""

    TEXT = "text"
    HTML = "html"


def survey(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Directories with templates, below them, too; or template files.",
            show_default=False,
        ),
    ],
    form: Annotated[
        SurveyForm, format_option("text, or html, a page of its own.")
    ] = SurveyForm.TEXT,
    output: OutputOption = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            "--records",
            metavar="FILE",
            help="Keep a line of JSON for each template here, which docs/survey.schema.json"
            " describes; a survey that was interrupted goes on where it was.",
        ),
    ] = None,
    jobs: JobsOption = None,
    *,
    limits: Limits | None = None,
) -> int:
    """Analyse every template of a corpus, and say what it is made of.

    Counted are the modes, the ways to write a call, the switches, the verdicts of self-checks
    and round trips.

    Exit code: 0 if the survey is done, 2 if there is nothing to survey.
    """
    if output is not None and kept is not None and output.absolute() == kept.absolute():
        raise AutoparserError(
            "--output and --records name the same file", hint="name another file with --output"
        )
    for place in places:
        keep_source(place, output)
    from autoparser.analysis.loading.isolation import usual_jobs
    from autoparser.analysis.overview.survey import templates_in

    sources = templates_in(places)
    records = _records(sources, kept, jobs or usual_jobs(), limits)
    with result_to(output) as outlet:
        _give(records, form, outlet)
    return 0


def _give(records: Sequence[Record], form: SurveyForm, outlet: Outlet) -> None:
    from autoparser.analysis.overview.survey import summary_of
    from autoparser.reports import survey_report
    from autoparser.reports.html import survey_page

    summary = summary_of(records)
    if form is SurveyForm.HTML:
        outlet.text(survey_page(summary, records, __version__))
    else:
        outlet.report(survey_report(summary, outlet.width))


def _records(
    sources: Sequence[str], file: Path | None, jobs: int, limits: Limits | None
) -> list[Record]:
    from autoparser.analysis.overview.survey import Journal, journal_of, line_of, surveying

    journal = Journal() if file is None else journal_of(_content(file), str(file))
    waiting = [(source, _digest(source)) for source in sources]
    known = {each: journal.records[each] for each in waiting if each in journal.records}
    if known:
        say(f"{len(known)} of {len(waiting)} were surveyed before, see {file}")
    left = [each for each in waiting if each not in known]
    with (
        # First of all: workers are forked, and the bar is drawn by a thread.
        surveying(jobs, limits) as surveyed,
        _appending(file, journal) as lines,
        progress_of(len(left), "surveying") as advance,
    ):
        for record in surveyed(left):
            known[record.source, record.sha256] = record
            if lines is not None:
                lines.write(line_of(record))
                # What is done stays done, whatever comes.
                lines.flush()
            advance()
    return [known[each] for each in waiting]


def _digest(source: str) -> str:
    """Return the digest of a template's text; of its file where no text can be read from it."""
    import hashlib

    from autoparser.analysis.loading.sources import load_template
    from autoparser.analysis.overview.survey import digest_of

    try:
        return digest_of(load_template(source).text)
    except AutoparserError:
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise AutoparserError(
        f"cannot be read ({reason})", file=str(path), hint="name another file with --records"
    )


@contextmanager
def _appending(path: Path | None, journal: Journal) -> Generator[TextIO | None]:
    """Open the file after its whole lines. Raises AutoparserError."""
    if path is None:
        yield None
        return
    try:
        if journal.repaired:
            os.truncate(path, journal.size)
        file = path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        with file:
            yield file
        return
    raise AutoparserError(
        f"cannot be written ({reason})", file=str(path), hint="name another file with --records"
    )
