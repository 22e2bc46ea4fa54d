"""Survey many templates, each in a worker with limits, so that none can stop the survey.

Each found template becomes a record, a line of a JSON Lines file by which `Journal` resumes an
interrupted survey; the records are summed up at the end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.documents import Count, Digest, copy_fields, json_of, read_value
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNeededError,
    TemplateNotFoundError,
)
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.formats.format_view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import (
    load_format,
    template_of_format,
)
from autoparser.analysis.history.round_trips import code_of, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import LintReport, lint
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.local_files import is_saved_format
from autoparser.analysis.sources.template_loading import load_template
from autoparser.analysis.teaching.taught_analysis import with_saved
from autoparser.analysis.templates.worker_limits import NO_LIMITS, Limits
from autoparser.analysis.templates.worker_pool import WorkerPool

from .format_facts import slot_text
from .portrait import Portrait, portray_template

# The templates below directories, and saved formats that stand there without one.


SUFFIXES = (".jinja", ".jinja2", ".j2")
FORMAT = ".format.json"
"""What names of saved formats end in by convention; any other is named itself."""
CONFIGURATION = "tokenizer_config.json"
"""The file of a model directory that may hold a template, where no file of its own does."""


def templates_in(places: Sequence[str]) -> tuple[str, ...]:
    """Return the templates that are named, or lie below what is named, each once, in order.

    Raises TemplateNotFoundError for a place that does not exist or holds no template.
    """
    found: dict[str, None] = {}
    for place in places:
        path = Path(place)
        if not path.exists():
            raise TemplateNotFoundError(
                "no such file or directory",
                file=place,
                hint="name directories with templates, or template files",
            )
        if not path.is_file() and not path.is_dir():
            # A template is read for its digest and again for its record; a pipe has one reading.
            raise TemplateNotFoundError(
                "this is neither a file nor a directory",
                file=place,
                hint="save what it gives as a file",
            )
        inside = [place] if path.is_file() else [str(each) for each in _files_below(path)]
        if not inside:
            raise TemplateNotFoundError(
                "there is no template in this directory or below it",
                file=place,
                hint=f"templates are files named *{SUFFIXES[0]}, or in a {CONFIGURATION}; saved"
                f" formats are named *{FORMAT}",
            )
        found.update(dict.fromkeys(inside))
    return tuple(found)


def _files_below(directory: Path) -> Iterator[Path]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    with_file = {path.parent for path in files if path.suffix in SUFFIXES}
    for path in files:
        alone = path.name == CONFIGURATION or path.name.endswith(FORMAT)
        if path.suffix in SUFFIXES or (alone and path.parent not in with_file):
            yield path


# The record of one template, a line of the survey's file.


SURVEY: Literal["autoparser.survey/1"] = "autoparser.survey/1"
HOLDS = "holds"


class SurveyCheck(Struct, frozen=True):
    """The self-check in figures."""

    passed: Count
    total: Count
    equal: Count = 0
    refused: Count = 0
    crashed: Count = 0
    not_asked: Count = 0
    crash: str | None = None
    """The first crash on what agents send: its line, and what was raised."""
    spoiled: str | None = None
    """What users send and the template spoils in silence; null where nothing is."""


class SurveyRecord(Struct, frozen=True):
    """One template: what it is like, or why it cannot be analyzed."""

    schema: Literal["autoparser.survey/1"]
    """Name and version; a change that is more than an addition counts it up."""
    source: str
    """The file, as it was found below what was named."""
    sha256: Digest
    """Of the template's text; of its file where no text can be read from it; of the file of a saved
    format."""
    error: str | None
    """Why there is no analysis; all below is then empty."""
    reasoning: ReasoningMode | None
    content: ContentMode | None
    tools: ToolFormat | None
    call: str | None
    """One call as it is written, its slots by name in «»; templates that share it are a family."""
    switches: tuple[str, ...]
    """Names, sorted."""
    check: SurveyCheck
    round_trip: dict[str, Annotated[int, Meta(ge=1)]]
    """Verdicts counted: `holds`, and the codes of causes; empty for a saved format whose template
    is not there."""
    findings: dict[Severity, Count] | None = None
    """What lint found, counted by severity; null where it was not asked."""

    @classmethod
    def failed(cls, source: str, digest: str, error: str) -> SurveyRecord:
        """Return the record of a template that cannot be analyzed."""
        check = SurveyCheck(0, 0)
        return cls(SURVEY, source, digest, error, None, None, None, None, (), check, {})

    @property
    def ok(self) -> bool:
        """Whether it was analyzed, and the whole self-check passes as users ask it."""
        passed = self.check.passed == self.check.total and self.check.spoiled is None
        return not self.error and passed

    @property
    def trip_count(self) -> int:
        """Round trips that apply to it."""
        return sum(self.round_trip.values())

    @property
    def trips_holding(self) -> int:
        """Those that hold."""
        return self.round_trip.get(HOLDS, 0)


def surveyed_format(source: str) -> LearnedFormat:
    """Return what a saved format holds, with its template if that is there; else analyze it.

    Raises AutoparserError.
    """
    if not is_saved_format(source):
        return analyze(load_template(source))
    saved = load_format(source)
    try:
        template = template_of_format(saved)
    except TemplateNeededError:
        return saved
    return with_saved(analyze(template), saved)


def survey_record(
    source: str, digest: str, learned: LearnedFormat, lint_report: LintReport | None = None
) -> SurveyRecord:
    """Return what is kept of an analysis, and of what lint found.

    Of a saved format without its template no round trip is played.
    """
    view, check, calls = learned.view, learned.check, learned.formats.fullest.calls
    return SurveyRecord(
        SURVEY,
        source,
        digest,
        None,
        view.reasoning,
        view.content,
        view.tools,
        None if calls is None else _call_text(calls),
        tuple(sorted(switch.name for switch in learned.switches)),
        copy_fields(
            SurveyCheck,
            check,
            crash=_first_crash(check),
            spoiled=None if learned.spoiled is None else learned.spoiled.usual,
        ),
        _count_trips(learned) if isinstance(learned, Analysis) else {},
        None if lint_report is None else _count_findings(lint_report),
    )


def _count_trips(analysis: Analysis) -> dict[str, int]:
    """Count the verdicts of round trips.

    They are played in the template's usual setting alone: a corpus is compared by what templates do
    by themselves.
    """
    setting = analysis.formats.fullest.setting or None
    played = round_trip(analysis, shipped_scenarios(), setting=setting)
    causes = (row.verdict.cause for row in played.rows)
    counts = Counter(HOLDS if cause is None else code_of(cause) for cause in causes)
    return dict(sorted(counts.items()))


def _count_findings(report: LintReport) -> dict[Severity, int]:
    counts = Counter(finding.severity for finding in report.findings)
    return {severity: counts[severity] for severity in Severity}


def _first_crash(check: Check) -> str | None:
    crash = next((each for each in check.crashes if each.needed), None)
    if crash is None:
        return None
    return crash.reason if crash.line is None else f"line {crash.line}: {crash.reason}"


def _call_text(calls: CallFormat) -> str:
    """Write a call's row, its arguments by one of their entries where they are not JSON."""
    members = calls.arguments.members
    arguments = "«arguments»"
    if not (members.values or calls.arguments.values).is_json or members.values is not None:
        arguments = f"{members.open}{slot_text(members.entry)}{members.close}"
    return slot_text(arguments if piece is RowSlot.ARGUMENTS else piece for piece in calls.row)


# The records as JSON Lines, so that an interrupted survey can be resumed.
#
# Contract: a line is a whole record. The last one may be half written; it is left out, and
# `Journal.size` is where whole lines end, so that a writer first truncates the file there.


_OTHER = "name another file with --records; nothing was written to this one"


@dataclass(frozen=True, slots=True)
class SurveyJournal:
    """What a file of records holds."""

    records: Mapping[tuple[str, str], SurveyRecord] = field(
        default_factory=dict[tuple[str, str], SurveyRecord]
    )
    """By source and digest."""
    size: int = 0
    """Bytes of its whole lines."""
    repaired: bool = False
    """Whether there is half a line after them."""


def record_at(record: SurveyRecord, source: str) -> SurveyRecord:
    """Return the record of a text for another file that holds it."""
    return record if record.source == source else structs.replace(record, source=source)


def line_of(record: SurveyRecord) -> str:
    """Write a record as one line, the newline at its end included."""
    # The standard library's writer: what a template says may hold half a surrogate pair.
    return json.dumps(json_of(record)) + "\n"


def journal_of(content: bytes, file: str) -> SurveyJournal:
    """Read what a file holds. Raises AutoparserError for a file that is not a survey's."""
    whole, newline, rest = content.rpartition(b"\n")
    records: dict[tuple[str, str], SurveyRecord] = {}
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        record = _read_record(line, file, f"line {number}")
        records[record.source, record.sha256] = record
    if not newline and rest and not rest.startswith(b'{"schema": "autoparser.survey/'[: len(rest)]):
        raise AutoparserError("this is not a survey", file=file, hint=_OTHER)
    return SurveyJournal(records, len(whole) + len(newline), bool(rest))


def _read_record(line: bytes, file: str, place: str) -> SurveyRecord:
    try:
        document: object = json.loads(line)
    except (ValueError, RecursionError):
        words = "this is not a line of a survey"
        raise AutoparserError(words, file=file, place=place, hint=_OTHER) from None
    return read_value(document, SurveyRecord, file=file, place=place, hint=_OTHER)


# The sums of a set of records.


@dataclass(frozen=True, slots=True)
class RecordShare:
    """Records that have something in common."""

    name: str
    templates: int
    ok: int
    """Those of them whose self-check passes."""
    trips_holding: int
    """Round trips that hold, over all of them."""
    trip_count: int


@dataclass(frozen=True, slots=True)
class CallFamily:
    """Templates that write a call alike."""

    call: str
    share: RecordShare
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SurveySummary:
    """A corpus at a glance."""

    all: RecordShare
    failed: tuple[SurveyRecord, ...]
    """Those that cannot be analyzed."""
    crashing: tuple[SurveyRecord, ...]
    """Those that crash on what agents send."""
    reasoning: tuple[RecordShare, ...]
    content: tuple[RecordShare, ...]
    tools: tuple[RecordShare, ...]
    families: tuple[CallFamily, ...]
    """Those with calls, the largest first."""
    switches: tuple[tuple[str, int], ...]
    """Names of switches, and how many templates have them."""
    causes: tuple[tuple[str, int, int], ...]
    """Codes of causes, how many round trips break by them, and in how many templates."""


EXAMPLES = 3


def summary_of(records: Sequence[SurveyRecord]) -> SurveySummary:
    """Add records up."""
    analyzed = [record for record in records if not record.error]
    switches = Counter(name for record in analyzed for name in record.switches)
    return SurveySummary(
        _share_of("all", records),
        tuple(record for record in records if record.error),
        tuple(record for record in analyzed if record.check.crash),
        _shares_by(analyzed, lambda record: record.reasoning or ""),
        _shares_by(analyzed, lambda record: record.content or ""),
        _shares_by(analyzed, lambda record: record.tools or ""),
        _call_families([record for record in analyzed if record.call]),
        tuple(sorted(switches.items(), key=lambda each: (-each[1], each[0]))),
        _cause_counts(analyzed),
    )


def _share_of(name: str, records: Iterable[SurveyRecord]) -> RecordShare:
    listed = list(records)
    return RecordShare(
        name,
        len(listed),
        sum(record.ok for record in listed),
        sum(record.trips_holding for record in listed),
        sum(record.trip_count for record in listed),
    )


def _shares_by(
    records: Sequence[SurveyRecord], name: Callable[[SurveyRecord], str]
) -> tuple[RecordShare, ...]:
    groups: dict[str, list[SurveyRecord]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    shares = [_share_of(each, group) for each, group in groups.items()]
    return tuple(sorted(shares, key=lambda share: (-share.templates, share.name)))


def _call_families(records: Sequence[SurveyRecord]) -> tuple[CallFamily, ...]:
    return tuple(
        CallFamily(
            share.name,
            share,
            tuple(record.source for record in records if record.call == share.name)[:EXAMPLES],
        )
        for share in _shares_by(records, lambda record: record.call or "")
    )


def _cause_counts(records: Sequence[SurveyRecord]) -> tuple[tuple[str, int, int], ...]:
    verdicts: Counter[str] = Counter()
    templates: Counter[str] = Counter()
    for record in records:
        for cause, count in record.round_trip.items():
            if cause != HOLDS:
                verdicts[cause] += count
                templates[cause] += 1
    found = [(cause, count, templates[cause]) for cause, count in verdicts.items()]
    return tuple(sorted(found, key=lambda each: (-each[1], each[0])))


Waiting: TypeAlias = tuple[str, str]
"""A source and the digest of its text."""


@dataclass(frozen=True, slots=True)
class SurveyResult:
    """What became of one template."""

    record: SurveyRecord
    page: str = ""
    """What was drawn of it, or empty if that was not asked, or it can be neither analyzed nor
    rendered."""


Survey: TypeAlias = Callable[[Sequence[Waiting]], Iterator[SurveyResult]]
"""Gives what became of the templates in their order, each as soon as it is there."""


@dataclass(frozen=True, slots=True)
class SurveyLook:
    """How each template is looked at. Workers are sent it, so what it holds can be pickled."""

    linted: bool = False
    """Whether what lint finds is counted; always where something is drawn, which shows it."""
    draw: Callable[[Portrait], str] | None = None
    """Draws a page of everything about a template."""

    def __call__(self, waiting: Waiting) -> SurveyResult:
        """Look at one template, or saved format; whatever it does is a record."""
        source, digest = waiting
        try:
            learned = surveyed_format(source)
            if not isinstance(learned, Analysis):
                return SurveyResult(survey_record(source, digest, learned))
            if self.draw is not None:
                # No tokenizer: masks that are timed while other workers run say nothing.
                portrait = portray_template(learned)
                record = survey_record(source, digest, portrait.analysis, portrait.lint)
                return SurveyResult(record, self.draw(portrait))
            found = lint(Subject(learned.template, analysis=learned)) if self.linted else None
            return SurveyResult(survey_record(source, digest, learned, found))
        except AutoparserError as error:
            return SurveyResult(SurveyRecord.failed(source, digest, error.message))


@contextmanager
def start_survey(
    processes: int, limits: Limits | None, look: SurveyLook | None = None
) -> Generator[Survey]:
    """Start workers and give what looks at templates; begin before any thread is started.

    `limits` are those of one template; None trusts them, and one process is then this one.
    """
    look = look or SurveyLook()
    if limits is None and processes == 1:
        yield lambda waiting: map(look, waiting)
        return
    with WorkerPool(processes, limits=limits or NO_LIMITS) as pool:
        yield lambda waiting: _survey_in_pool(pool, look, waiting)


def _survey_in_pool(
    pool: WorkerPool, look: SurveyLook, waiting: Sequence[Waiting]
) -> Iterator[SurveyResult]:
    outcomes = pool.map(look, waiting, name=lambda each: each[0])
    for (source, digest), outcome in zip(waiting, outcomes, strict=True):
        error = outcome.error
        if error is None:
            yield outcome.result()
        else:
            yield SurveyResult(SurveyRecord.failed(source, digest, error.message))
