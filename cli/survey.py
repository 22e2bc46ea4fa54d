"""``autoparser survey``: a corpus of templates at a glance."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from autoparser.analysis.errors import AutoparserError
from autoparser.analysis.isolation import Limits

from .output import print_report, report_width, say, write_file
from .progress import progress_of

if TYPE_CHECKING:
    from autoparser.analysis.survey import Journal, Record

__all__ = ["survey"]


def survey(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Directories with templates, below them, too; or template files.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Keep a line of JSON for each template; a survey that was interrupted goes on"
            " where it was.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page on the corpus.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many to use; else one for each processor."),
    ] = None,
    *,
    limits: Limits | None = None,
) -> int:
    """Analyse every template of a corpus, and say what it is made of.

    Counted are the modes, the ways to write a call, the switches, the verdicts of self-checks
    and round trips.

    Exit code: 0 if the survey is done, 2 if there is nothing to survey.
    """
    if output is not None and html is not None and output.absolute() == html.absolute():
        raise AutoparserError(
            "--output and --html name the same file", hint="name another file with --html"
        )
    from autoparser.analysis.survey import summary_of, templates_in

    sources = templates_in(places)
    records = _records(sources, output, processes or _processors(), limits)
    summary = summary_of(records)
    if html is not None:
        from importlib.metadata import version

        from autoparser.reports.html import survey_page

        write_file(html, survey_page(summary, records, version("autoparser")))
    from autoparser.reports import survey_report

    print_report(survey_report(summary, report_width()))
    return 0


def _records(
    sources: Sequence[str], output: Path | None, processes: int, limits: Limits | None
) -> list[Record]:
    from autoparser.analysis.survey import Journal, journal_of, line_of, surveying

    journal = Journal() if output is None else journal_of(_content(output), str(output))
    waiting = [(source, _digest(source)) for source in sources]
    known = {each: journal.records[each] for each in waiting if each in journal.records}
    if known:
        say(f"{len(known)} of {len(waiting)} were surveyed before, see {output}")
    left = [each for each in waiting if each not in known]
    with (
        # First of all: workers are forked, and the bar is drawn by a thread.
        surveying(processes, limits) as surveyed,
        _appending(output, journal) as file,
        progress_of(len(left), "surveying") as advance,
    ):
        for record in surveyed(left):
            known[record.source, record.sha256] = record
            if file is not None:
                file.write(line_of(record))
                # What is done stays done, whatever comes.
                file.flush()
            advance()
    return [known[each] for each in waiting]


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _digest(source: str) -> str:
    """Give the digest of a template's text; of its file where no text can be read from it."""
    import hashlib

    from autoparser.analysis.sources import load_template
    from autoparser.analysis.survey import digest_of

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
        f"cannot be read ({reason})", file=str(path), hint="name another file with --output"
    )


@contextmanager
def _appending(path: Path | None, journal: Journal) -> Generator[TextIO | None]:
    """Open the file behind its whole lines. Raises AutoparserError."""
    if path is None:
        yield None
        return
    try:
        if journal.mended:
            os.truncate(path, journal.size)
        file = path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        with file:
            yield file
        return
    raise AutoparserError(
        f"cannot be written ({reason})", file=str(path), hint="name another file with --output"
    )
