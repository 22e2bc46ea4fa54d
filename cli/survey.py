"""``autoparser survey``: a summary of a corpus of templates.

Names of result files and shares of a corpus depend only on their arguments, so that jobs on several
machines fit together:

    >>> page_name("models/Some Model.jinja", "0123456789abcdef")
    'some-model-190696a5b5d03c9a.html'
    >>> _parse_share("2/8")
    (2, 8)
"""

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
from .engines import find_engines
from .options import JobsOption, JsonOption, OutputOption, chosen_form, format_option
from .output import Outlet, open_outlet, print_note, print_warning, progress_bar, write_file


class SurveyForm(StrEnum):
    """The forms of a survey."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"


def survey(
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR...]",
            help="Directories to search for templates, template files, saved formats, or records"
            " (*.jsonl) of earlier surveys.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        Path | None,
        "FILE",
        "Also survey these models on the Hub, or paths: one name a line.",
    ] = None,
    shard: Annotated[
        str | None, "I/N", "Look at the I-th of N shares of the texts, as one of N jobs."
    ] = None,
    form: Annotated[
        SurveyForm | None,
        format_option(
            "json has a line for each template, as --records; html is a page of them; markdown is a"
            " page about them, with two pictures beside it. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    title: Annotated[
        str, "TEXT", "The origin of the templates, for the first line of the Markdown page."
    ] = "",
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
        bool, "Also count what lint finds in each template; adds about half to the time."
    ] = False,
    reports: Annotated[
        Path | None,
        "DIR",
        "Write a report for each template to this directory, and an index.html that sorts,"
        " filters and links them. Implies --lint.",
    ] = None,
    python: Annotated[
        list[str] | None,
        "PATH",
        "Also rank the built-in parsers of the engines in this environment, by its bin/python, on"
        " each template that writes calls; takes a minute for each. Can be repeated.",
    ] = None,
    jobs: JobsOption = None,
    *,
    limits: Limits | None = None,
) -> int:
    """Summarize a directory of chat templates.

    Counts the formats, the notations of tool calls, the switches, and the verdicts of self-checks
    and round trips.

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
    form = chosen_form(form, as_json, SurveyForm.JSON)
    if reports is not None and form is SurveyForm.HTML:
        raise AutoparserError(
            f"--reports writes the page itself, as {reports / INDEX}",
            hint="leave out --format html, or --reports",
        )

    if form is SurveyForm.MARKDOWN and output is None:
        raise AutoparserError(
            "--format markdown writes two pictures beside the page", hint="name a file with -o"
        )

    named = places or []
    kept = [place for place in named if place.endswith(RECORDS) and Path(place).is_file()]
    templates = [place for place in named if place not in kept]
    sources = [*wings.templates_in(templates), *(() if models is None else read_names(models))]
    if not sources and not kept:
        raise AutoparserError("nothing to survey", hint="name directories, templates or records")
    earlier = [
        record
        for place in kept
        for record in wings.read_journal(_read_records(Path(place)), place).records.values()
    ]
    pages = None if reports is None else report_folder(reports)
    linted = lint or pages is not None
    share = None if shard is None else _parse_share(shard)
    # If an engine is in several environments, use the first one.
    engines = tuple(dict(reversed(find_engines(python))).items()) if python else ()
    wanted = _SurveyPlan(record_file, pages, linted, share, tuple(earlier), engines)
    records = _survey_records(sources, wanted, jobs or wings.usual_jobs(), limits)
    if form is SurveyForm.MARKDOWN and output is not None:
        # Only this page shows what `fix` does, and trying it takes long.
        _write_state(_try_fixes(records, record_file, limits), title, output)
    else:
        with open_outlet(output) as outlet:
            _write_survey(records, form, outlet)
    if pages is not None:
        pages.write_index(wings.summarize_records(records), records, __version__)
        print_note(f"Open {pages.folder / INDEX}")
    return 0


@dataclass(frozen=True, slots=True)
class _SurveyPlan:
    """The files that a survey writes for each template."""

    record_file: Path | None
    """The file of records, e.g. `survey.jsonl`, or None."""
    pages: SurveyReports | None
    """The folder of pages, e.g. that of `--reports pages`, or None."""
    linted: bool
    """Whether each template is linted, e.g. with `--lint`."""
    share: tuple[int, int] | None = None
    """The share of the texts, and the number of shares, e.g. `(1, 8)`, or None for all."""
    earlier: tuple[wings.SurveyRecord, ...] = ()
    """Records of other surveys, e.g. of the argument `survey.jsonl`: their templates are not
    analyzed again, and are summed up."""
    engines: tuple[tuple[str, str], ...] = ()
    """The engines that read the templates' turns, with their Pythons, e.g. `(("vllm",
    "vllm-env/bin/python"),)`."""

    def takes(self, digest: str) -> bool:
        """Return whether a text is in the share, by its digest, so that copies stay together."""
        return self.share is None or int(digest, 16) % self.share[1] == self.share[0] - 1

    def is_complete(self, record: wings.SurveyRecord) -> bool:
        """Return whether an earlier survey wrote all files for this record."""
        # A template without an analysis has neither a page nor findings.
        if record.error:
            return True
        written = self.pages is None or self.pages.has(record.source, record.sha256)
        return written and not (self.linted and record.found is None)

    def look(self) -> wings.SurveyLook:
        if self.pages is None:
            return wings.SurveyLook(self.linted)

        draw = partial(wings.report_page, version=__version__, index=INDEX)
        return wings.SurveyLook(self.linted, draw)


def _write_survey(
    records: Sequence[wings.SurveyRecord], form: SurveyForm | None, outlet: Outlet
) -> None:
    if form is SurveyForm.JSON:
        for record in records:
            outlet.json(wings.document_json(record), indent=None)
        return
    summary = wings.summarize_records(records)
    if form is SurveyForm.HTML:
        outlet.text(wings.survey_page(summary, records, __version__))
    else:
        outlet.report(wings.survey_report(summary, outlet.width))


def _write_state(records: Sequence[wings.SurveyRecord], title: str, output: Path) -> None:
    """Write the page about the templates, and its pictures into the same directory."""
    page = wings.state_page(wings.count_state(records), title, output.stem)
    # Write the pictures first, so that the page never refers to missing ones.
    for name, picture in page.pictures.items():
        write_file(output.with_name(name), picture)
    write_file(output, page.text)


def _try_fixes(
    records: list[wings.SurveyRecord], record_file: Path | None, limits: Limits | None
) -> list[wings.SurveyRecord]:
    """Try `fix` on the page's examples, and add the outcomes to the records."""
    examples = wings.untried_examples(records)
    tried: dict[str, wings.SurveyRecord] = {}
    with progress_bar(len(examples), "fixing") as advance:
        for record, code in examples:
            # One template may be the example of several rules: its record collects all outcomes.
            known = tried.get(record.sha256, record)
            tried[record.sha256] = wings.try_fix(known, code, limits)
            advance()
    if record_file is not None and tried:
        with wings.writing(record_file, "name another file with --records"):
            lines = wings.open_log(record_file)
        with lines:
            lines.writelines(map(wings.record_line, tried.values()))
    return [*records, *tried.values()]


def _survey_records(
    sources: Sequence[str], wanted: _SurveyPlan, jobs: int, limits: Limits | None
) -> list[wings.SurveyRecord]:
    file = wanted.record_file
    journal = (
        wings.SurveyJournal()
        if file is None
        else wings.read_journal(_read_records(file), str(file))
    )
    digests = ((source, _source_digest(source)) for source in sources)
    # Shares are by text and not by file, so that two jobs never analyze copies of one template.
    waiting = [pair for pair in digests if wanted.takes(pair[1])]
    earlier = [record for record in wanted.earlier if wanted.takes(record.sha256)]
    # Records of the same text are joined under the first file, which also names the page.
    joined = wings.joined_texts((*earlier, *journal.records.values()))
    known = {digest: record for digest, record in joined.items() if wanted.is_complete(record)}
    before = sum(digest in known for _, digest in waiting)
    if before:
        many, verb = wings.counted_noun(len(waiting), "template"), "was" if before == 1 else "were"
        seen = "" if file is None else f", see {file}"
        print_note(f"{before} of {many} {verb} surveyed before{seen}")
    # If several files have the same text, survey the first one.
    left = {digest: source for source, digest in reversed(waiting) if digest not in known}
    looked = [pair for pair in waiting if left.get(pair[1]) == pair[0]]
    found = {
        (record.source, record.sha256): wings.record_at(joined[record.sha256], record.source)
        for record in earlier
    }
    with (
        # Start the workers first: they are forked, and the progress bar runs in a thread.
        wings.start_survey(jobs, limits, wanted.look()) as surveyed,
        _open_records(file, journal) as lines,
        wings.engine_processes(wanted.engines) as engines,
        progress_bar(len(looked), "surveying") as advance,
    ):
        results = iter(surveyed(looked))
        for source, digest in waiting:
            record = known.get(digest)
            if record is None:
                result = next(results)
                record = known[digest] = result.record
                if wanted.pages is not None and result.page:
                    # Write the page before the record, which states that the page exists.
                    wanted.pages.write(record, result.page)
                advance()
            try:
                record = known[digest] = wings.add_readings(record, engines, limits)
            except AutoparserError as error:
                print_warning(source, error.message)
            own = found[source, digest] = wings.record_at(record, source)
            if lines is not None and journal.records.get((source, digest)) != own:
                lines.write(wings.record_line(own))
                # Flush each record, so that an interrupted survey keeps it.
                lines.flush()
    return list(found.values())


def read_names(path: Path) -> list[str]:
    """Return the names of models in a file, one per line. Raises AutoparserError."""
    hint = "name a file with names of models, one a line"
    try:
        text = wings.read_path(path, hint).decode()
    except (OSError, UnicodeDecodeError):
        raise AutoparserError("cannot be read", file=str(path), hint=hint) from None
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [*dict.fromkeys(filter(None, names))]


def _parse_share(text: str) -> tuple[int, int]:
    """Parse a share such as `3/8`. Raises AutoparserError."""
    number, slash, total = text.partition("/")
    if slash and number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total):
        return int(number), int(total)
    raise AutoparserError(
        f"invalid --shard {text!r}", hint="use --shard I/N, e.g. 1/8 for the first of eight"
    )


def _source_digest(source: str) -> str:
    """Return the digest of a template's text, or of its file if it has no text.

    A saved format has its file's digest: the same template may have been learned differently.
    """
    try:
        return wings.text_digest(wings.load_template(source).text)
    except AutoparserError as error:
        with suppress(OSError, AutoparserError):
            return hashlib.sha256(wings.read_path(Path(source))).hexdigest()
        # Identify a source that is unreadable or too large by its error message.
        return wings.text_digest(str(error))


def _read_records(path: Path) -> bytes:
    if path.is_fifo():
        raise AutoparserError(
            "records cannot be resumed from a named pipe",
            file=str(path),
            hint="name a file with --records",
        )
    try:
        # The command wrote this file itself and appends to it, so it is not noted as an input.
        return wings.read_path(path, noted=False) if path.exists() else b""
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise AutoparserError(
        f"cannot be read ({reason})", file=str(path), hint="name another file with --records"
    )


@contextmanager
def _open_records(path: Path | None, journal: wings.SurveyJournal) -> Generator[TextIO | None]:
    """Open the file for appending after its last complete line. Raises AutoparserError."""
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
"""The page that lists all others."""
RECORDS = ".jsonl"
"""The ending of files of records."""
_OTHER_FOLDER = "name another directory with --reports"
_PAGE_END = b"</html>\n"
"""The end of a complete page; one that was cut by an interruption lacks it."""
LONGEST = 60
"""Characters of a page's name that describe it; the digest's are added."""


@dataclass(frozen=True, slots=True)
class SurveyReports:
    """A folder of pages. Every method raises AutoparserError if it cannot be written."""

    folder: Path
    """The folder of the pages, e.g. `pages`."""

    def has(self, source: str, digest: str) -> bool:
        """Return whether the page of this text exists and is complete."""
        page = self.folder / page_name(source, digest)
        if not page.is_file():
            return False
        with wings.writing(page, _OTHER_FOLDER):
            return wings.read_path(page, noted=False).endswith(_PAGE_END)

    def write(self, record: wings.SurveyRecord, page: str) -> None:
        """Write a template's own page."""
        self._write(page_name(record.source, record.sha256), page)

    def write_index(
        self, summary: wings.SurveySummary, records: Sequence[wings.SurveyRecord], version: str
    ) -> None:
        """Write the survey's page with links to the existing pages."""
        # Files with the same text share the page of the file that was surveyed.
        by_text = {
            record.sha256: page_name(record.source, record.sha256)
            for record in reversed(records)
            if self.has(record.source, record.sha256)
        }
        pages = {
            record.source: by_text[record.sha256] for record in records if record.sha256 in by_text
        }
        self._write(INDEX, wings.survey_page(summary, records, version, pages))

    def _write(self, name: str, text: str) -> None:
        content = text.encode("utf-8", "backslashreplace")
        wings.write_named_file(self.folder / name, content, _OTHER_FOLDER)


def report_folder(folder: Path) -> SurveyReports:
    """Return the folder, created if missing. Raises AutoparserError if that fails."""
    with wings.writing(folder, _OTHER_FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
    return SurveyReports(folder)


def page_name(source: str, digest: str) -> str:
    """Return a file name of letters, digits and dashes, unique for any path and text.

    Example: `models/Some Model.jinja` becomes `some-model-` with 16 digits and `.html`. It has no
    capitals, because some systems ignore case in file names.
    """
    stem = re.sub(r"[^a-z0-9]+", "-", Path(source).stem.lower()).strip("-")[:LONGEST]
    # No path has a null character, so no two pairs join to one text.
    known = hashlib.sha256(f"{source}\0{digest}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem or 'template'}-{known[:16]}.html"
