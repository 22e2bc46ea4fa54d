r"""Survey many templates, each in a worker with limits, so that none can stop the survey.

Each found template becomes a record, a line of a JSON Lines file by which `Journal` resumes an
interrupted survey; the records are summed up at the end. Of
`fixtures/templates/j1-json-in-tags.jinja` the record has, among others,

    "reasoning": "TAG_BASED", "content": "PLAIN", "tools": "JSON_NATIVE",
    "call": "<tool_call>\n{\"name\": \"«name»\", \"arguments\": «arguments»}\n</tool_call>",
    "switches": ["enable_thinking"], "check": {"passed": 47, "total": 47, "equal": 47, …}

so that the sum counts it under a call of this text, and among the templates with that switch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from autoparser import __version__
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.documents import Count, Digest, copy_fields, document_json, read_value
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNeededError,
    TemplateNotFoundError,
)
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.engines.engine_process import EngineProcess
from autoparser.analysis.formats.format_view import (
    CallNotation,
    ContentMode,
    ReasoningMode,
    ToolFormat,
    call_notation,
)
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import (
    load_format,
    template_of_format,
)
from autoparser.analysis.history.round_trips import TripRow, cause_code, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Culprit
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import FindingFilter, LintFinding, LintReport, lint
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.local_files import is_saved_format, path_exists
from autoparser.analysis.sources.template_loading import load_template
from autoparser.analysis.teaching.taught_analysis import with_saved
from autoparser.analysis.templates.worker_limits import NO_LIMITS, Limits
from autoparser.analysis.templates.worker_pool import WorkerPool

from .engine_readings import EngineReading, read_with_engines
from .format_facts import slot_text
from .portrait import Portrait, portray_template

# The templates below directories, and saved formats that have no template next to them.


SUFFIXES = (".jinja", ".jinja2", ".j2")
FORMAT = ".format.json"
"""The conventional suffix of saved formats; a file with another name must be named itself."""
CONFIGURATION = "tokenizer_config.json"
"""The file of a model directory that may hold a template if a template file is missing."""


def templates_in(places: Sequence[str]) -> tuple[str, ...]:
    """Return the named templates and those in the named directories, without repeats, in order.

    Raises TemplateNotFoundError for a place that does not exist or holds no template.
    """
    found: dict[str, None] = {}
    for place in places:
        path = Path(place)
        if not path_exists(path):
            raise TemplateNotFoundError(
                "no such file or directory",
                file=place,
                hint="name directories with templates, or template files",
            )
        if not path.is_file() and not path.is_dir():
            # A template is read twice, for its digest and its record, but a pipe only once.
            raise TemplateNotFoundError(
                "neither a file nor a directory",
                file=place,
                hint="save its content as a file",
            )
        inside = [place] if path.is_file() else [str(found) for found in _files_below(path)]
        if not inside:
            raise TemplateNotFoundError(
                "no template in this directory or below it",
                file=place,
                hint=f"templates are files named *{SUFFIXES[0]}, or in a {CONFIGURATION}; saved"
                f" formats are named *{FORMAT}",
            )
        found.update(dict.fromkeys(inside))
    return tuple(found)


def _files_below(directory: Path) -> Iterator[Path]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    # A template file beside a configuration holds the model's template, and a copy would be counted
    # twice.
    with_file = {path.parent for path in files if path.suffix in SUFFIXES}
    for path in files:
        alone = path.name == CONFIGURATION or path.name.endswith(FORMAT)
        if path.suffix in SUFFIXES or (alone and path.parent not in with_file):
            yield path


# The record of one template, a line of the survey's file.


SURVEY: Literal["autoparser.survey/1"] = "autoparser.survey/1"
HOLDS = "holds"


class SurveyCheck(Struct, frozen=True):
    """The counts of the self-check."""

    passed: Count
    """The number of messages that pass, such as `47`."""
    total: Count
    """The number of messages in the battery, such as `47`."""
    equal: Count = 0
    """The number that the format writes as the template renders them, such as `39`."""
    refused: Count = 0
    """The number that the template refuses, as the format predicts, such as `8`."""
    crashed: Count = 0
    """The number on which the template crashes, as the format predicts, such as `34`."""
    not_asked: Count = 0
    """The number that the template's shape cannot express, such as `0`."""
    crash: str | None = None
    """The first crash on input that agents send: the line and the error, such as
    `"line 68: TypeError: can only concatenate str (not "int") to str"`."""
    spoiled: str | None = None
    """Input of users that the template silently loses or alters, such as `"content as text"`; null
    without any."""


class SurveyFinding(Struct, frozen=True):
    """One finding of lint."""

    code: str
    """The rule's code, e.g. `AP503`."""
    severity: Severity
    """How grave it is, such as `"warning"`."""
    line: int | None
    """The template's line, such as `101`, or null if no render names one."""
    message: str
    """E.g. `content: null beside a call is printed as the word None`."""
    raises: bool
    """Whether the template raises on the input that shows the fault."""
    shown: bool
    """Whether the profile `release` shows it: no convention, but a fault."""


class TriedFix(Struct, frozen=True):
    """The outcome of `fix` for one finding, tried alone."""

    code: str
    """The rule's code, such as `AP503`."""
    line: int | None
    """The finding's line, such as `101`."""
    reason: str
    """Why the finding stays, such as `"no edit tried removes the finding without other changes"`;
    empty if it is fixed."""
    conversations: Count = 0
    """The number of conversations that the proof renders with both templates, such as `508`."""
    edits: Count = 0
    """The number of edits that were tried, such as `11`."""


class SurveyRecord(Struct, frozen=True):
    """One template's results, or the reason why it cannot be analyzed."""

    schema: Literal["autoparser.survey/1"]
    """The schema's name and version, `"autoparser.survey/1"`, which grows with each incompatible
    change."""
    source: str
    """The file, relative to the named place, such as `"GLM-4.6.jinja"`."""
    sha256: Digest
    """The digest of the template's text, such as `"91aa728a…"`, or of the file if no text can be
    read from it. A saved format has its file's."""
    error: str | None
    """The reason if the analysis is missing, such as `"the template renders nothing"`; all fields
    below are then empty."""
    reasoning: ReasoningMode | None
    """How turns begin reasoning, such as `"TAG_BASED"`."""
    content: ContentMode | None
    """Whether content has markers, such as `"PLAIN"`."""
    tools: ToolFormat | None
    """The kind of notation of calls, such as `"JSON_NATIVE"`."""
    call: str | None
    """A call in the template's notation, e.g. `<call>«name»</call>`; a family shares it."""
    switches: tuple[str, ...]
    """The names of the switches, sorted, such as `["enable_thinking", "preserve_thinking"]`."""
    check: SurveyCheck
    """The counts of the self-check, such as 47 of 47."""
    round_trip: dict[str, Annotated[int, Meta(ge=1)]]
    """The number of verdicts, by `holds` or a cause's code; empty for a saved format without its
    template."""
    findings: dict[Severity, Count] | None = None
    """The number of lint findings by severity, such as `{"error": 0, "warning": 4, "info": 2}`;
    null if lint did not run."""
    date: str = ""
    """The day of the analysis, e.g. `2026-11-29`; empty in records of earlier versions."""
    version: str = ""
    """The version of autoparser that analyzed it, e.g. `0.1.0`."""
    notation: CallNotation | None = None
    """How a call is written, such as `"a JSON object between markers"`; null if the template writes
    none."""
    blamed: dict[str, Annotated[int, Meta(ge=1)]] | None = None
    """The number of round trips that break through the template's fault, by cause, such as
    `{"raises": 1, "reasoning-dropped": 22}`."""
    found: tuple[SurveyFinding, ...] | None = None
    """The lint findings, such as one of `AP108`, merged by cause; null if lint did not run."""
    readings: tuple[EngineReading, ...] | None = None
    """How the engines' built-in parsers read its turns, such as 42 of 42 texts right by `qwen`;
    null if none was asked."""
    fixes: tuple[TriedFix, ...] | None = None
    """The findings that `fix` was tried on, for the examples of a page; null if on none."""

    @classmethod
    def failed(cls, source: str, digest: str, error: str) -> SurveyRecord:
        """Return the record of a template that cannot be analyzed."""
        check = SurveyCheck(0, 0)
        found = cls(SURVEY, source, digest, error, None, None, None, None, (), check, {})
        return structs.replace(found, date=_today(), version=__version__)

    @property
    def ok(self) -> bool:
        """Whether it was analyzed and passes the whole self-check on OpenAI-style messages."""
        passed = self.check.passed == self.check.total and self.check.spoiled is None
        return not self.error and passed

    @property
    def trip_count(self) -> int:
        """The number of applicable round trips."""
        return sum(self.round_trip.values())

    @property
    def trips_holding(self) -> int:
        """The number of round trips that hold."""
        return self.round_trip.get(HOLDS, 0)


def surveyed_format(source: str) -> LearnedFormat:
    """Load a saved format, with its template if present, or analyze a template.

    Raises AutoparserError.
    """
    if not is_saved_format(source):
        return analyze(load_template(source))
    saved = load_format(source)
    try:
        template = template_of_format(saved)
    # A format may be saved without its template, e.g. if it was learned from outputs.
    except TemplateNeededError:
        return saved
    return with_saved(analyze(template), saved)


def survey_record(
    source: str, digest: str, learned: LearnedFormat, lint_report: LintReport | None = None
) -> SurveyRecord:
    """Summarize an analysis and a lint report as a record.

    A saved format without its template has no round trips.
    """
    view, check, calls = learned.view, learned.check, learned.formats.fullest.calls
    trips: tuple[TripRow, ...] = ()
    if isinstance(learned, Analysis):
        # In the default setting alone, so that templates of a corpus are comparable.
        setting = learned.formats.fullest.setting or None
        trips = round_trip(learned, shipped_scenarios(), setting=setting).rows
    blamed = [row for row in trips if row.verdict.fault is Culprit.TEMPLATE]
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
        _count_causes(trips),
        None if lint_report is None else _count_findings(lint_report),
        _today(),
        __version__,
        call_notation(calls, view.json_fields),
        _count_causes(blamed),
        None if lint_report is None else tuple(map(_survey_finding, lint_report.findings)),
    )


def joined_texts(records: Iterable[SurveyRecord]) -> dict[str, SurveyRecord]:
    """Return a record for each text by its digest: the last one, under the name of the first.

    Fields that only some surveys fill come from an earlier record if the last one lacks them.
    """
    joined: dict[str, SurveyRecord] = {}
    for record in records:
        first = structs.asdict(joined.get(record.sha256, record))
        added = {name: first[name] for name in _ADDED if getattr(record, name) is None}
        joined[record.sha256] = structs.replace(record, **added, source=first["source"])
    return joined


_ADDED = ("findings", "found", "readings", "fixes")


def add_readings(
    record: SurveyRecord, processes: Sequence[EngineProcess], limits: Limits | None
) -> SurveyRecord:
    """Ask engines about a template that writes calls, if the record does not know their readings.

    Raises AutoparserError.
    """
    if not processes or record.notation is None or record.readings is not None:
        return record
    analysis = analyze(load_template(record.source), isolate=limits or False)
    return structs.replace(record, readings=read_with_engines(analysis, processes))


def _today() -> str:
    return date.today().isoformat()  # noqa: DTZ011 - the day where the survey runs


def _survey_finding(finding: LintFinding) -> SurveyFinding:
    raises = any(pair.one.error for pair in finding.evidence)
    return SurveyFinding(
        finding.code,
        finding.severity,
        finding.hit.line,
        finding.message,
        raises,
        _RELEASE.shows(finding),
    )


_RELEASE = FindingFilter(Profile.RELEASE)


def _count_causes(rows: Iterable[TripRow]) -> dict[str, int]:
    causes = (row.verdict.cause for row in rows)
    counts = Counter(HOLDS if cause is None else cause_code(cause) for cause in causes)
    return dict(sorted(counts.items()))


def _count_findings(report: LintReport) -> dict[Severity, int]:
    counts = Counter(finding.severity for finding in report.findings)
    return {severity: counts[severity] for severity in Severity}


def _first_crash(check: Check) -> str | None:
    crash = next((crash for crash in check.crashes if crash.needed), None)
    if crash is None:
        return None
    return crash.reason if crash.line is None else f"line {crash.line}: {crash.reason}"


def _call_text(calls: CallFormat) -> str:
    """Write a call's row; arguments that are not JSON are shown by one of their entries."""
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
    """The records of a journal file."""

    records: Mapping[tuple[str, str], SurveyRecord] = field(
        default_factory=dict[tuple[str, str], SurveyRecord]
    )
    """The records by source, such as `"GLM-4.6.jinja"`, and digest."""
    size: int = 0
    """The length of the complete lines, in bytes, such as `1933832`."""
    repaired: bool = False
    """Whether an incomplete line follows them."""


def record_at(record: SurveyRecord, source: str) -> SurveyRecord:
    """Return a copy of a record for another file with the same text."""
    return record if record.source == source else structs.replace(record, source=source)


def record_line(record: SurveyRecord) -> str:
    """Encode a record as one line, with its newline."""
    # Use the standard library's encoder: a template's messages may contain lone surrogates.
    return json.dumps(document_json(record)) + "\n"


def read_journal(content: bytes, file: str) -> SurveyJournal:
    """Parse a journal. Raises AutoparserError for a file that is not a survey's."""
    whole, newline, rest = content.rpartition(b"\n")
    records: dict[tuple[str, str], SurveyRecord] = {}
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        record = _read_record(line, file, f"line {number}")
        records[record.source, record.sha256] = record
    # Another kind of file may end with an incomplete line, which must not be mistaken for a
    # survey's and cut off.
    if not newline and rest and not rest.startswith(b'{"schema": "autoparser.survey/'[: len(rest)]):
        raise AutoparserError("not a survey", file=file, hint=_OTHER)
    return SurveyJournal(records, len(whole) + len(newline), bool(rest))


def _read_record(line: bytes, file: str, place: str) -> SurveyRecord:
    try:
        document: object = json.loads(line)
    except (ValueError, RecursionError):
        words = "not a line of a survey"
        raise AutoparserError(words, file=file, place=place, hint=_OTHER) from None
    return read_value(document, SurveyRecord, file=file, place=place, hint=_OTHER)


# The totals of a set of records.


@dataclass(frozen=True, slots=True)
class RecordShare:
    """A group of records with a common property."""

    name: str
    """The common property, e.g. `JSON_NATIVE`, or `all`."""
    templates: int
    """The number of records, such as `786`."""
    ok: int
    """The number of records whose self-check passes, such as `747`."""
    trips_holding: int
    """The number of round trips that hold, over all records, such as `10698`."""
    trip_count: int
    """The number of applicable round trips, over all records, such as `20663`."""
    examples: tuple[str, ...]
    """The first files among them, such as `("stepfun-ai-step3.jinja",)`."""


@dataclass(frozen=True, slots=True)
class SurveySummary:
    """The summary of a corpus."""

    all: RecordShare
    """All records as one group, such as `RecordShare("all", 786, 747, 10698, 20663, …)`."""
    failed: tuple[SurveyRecord, ...]
    """The records without an analysis, such as one with the error `"the template renders nothing"`.
    """
    crashing: tuple[SurveyRecord, ...]
    """The records of templates that crash on input that agents send, such as
    `"Kimi-K2-Instruct.jinja"`."""
    reasoning: tuple[RecordShare, ...]
    """The groups by mode of reasoning, the largest first, such as
    `(RecordShare(ReasoningMode.NONE, 490, 472, 4695, 6922, …), …)`."""
    content: tuple[RecordShare, ...]
    """The groups by mode of content, such as `ContentMode.PLAIN` with 742 templates, the largest
    first."""
    tools: tuple[RecordShare, ...]
    """The groups by form of tool calls, such as `ToolFormat.JSON_NATIVE` with 180 templates, the
    largest first."""
    families: tuple[RecordShare, ...]
    r"""The call notations, the most frequent first, such as
    `<tool_call>\n{"name": "«name»", "arguments": «arguments»}\n</tool_call>`."""
    switches: tuple[tuple[str, int], ...]
    """The names of switches, and the number of templates with each, such as
    `(("enable_thinking", 156), ("add_vision_id", 48), …)`."""
    causes: tuple[tuple[str, int, int], ...]
    """Cause codes, the number of round trips that each breaks, and the number of templates, such as
    `(("reasoning-dropped", 3485, 204), ("header-differs", 1524, 147), …)`."""


EXAMPLES = 3


def summarize_records(records: Sequence[SurveyRecord]) -> SurveySummary:
    """Summarize records."""
    analyzed = [record for record in records if not record.error]
    switches = Counter(name for record in analyzed for name in record.switches)
    return SurveySummary(
        _record_share("all", records),
        tuple(record for record in records if record.error),
        tuple(record for record in analyzed if record.check.crash),
        _shares_by(analyzed, lambda record: record.reasoning or ""),
        _shares_by(analyzed, lambda record: record.content or ""),
        _shares_by(analyzed, lambda record: record.tools or ""),
        _shares_by([row for row in analyzed if row.call], lambda record: record.call or ""),
        tuple(sorted(switches.items(), key=lambda item: (-item[1], item[0]))),
        _cause_counts(analyzed),
    )


def _record_share(name: str, records: Sequence[SurveyRecord]) -> RecordShare:
    return RecordShare(
        name,
        len(records),
        sum(record.ok for record in records),
        sum(record.trips_holding for record in records),
        sum(record.trip_count for record in records),
        tuple(record.source for record in records[:EXAMPLES]),
    )


def _shares_by(
    records: Sequence[SurveyRecord], name: Callable[[SurveyRecord], str]
) -> tuple[RecordShare, ...]:
    groups: dict[str, list[SurveyRecord]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    shares = [_record_share(value, group) for value, group in groups.items()]
    return tuple(sorted(shares, key=lambda share: (-share.templates, share.name)))


def _cause_counts(records: Sequence[SurveyRecord]) -> tuple[tuple[str, int, int], ...]:
    verdicts: Counter[str] = Counter()
    templates: Counter[str] = Counter()
    for record in records:
        for cause, count in record.round_trip.items():
            if cause != HOLDS:
                verdicts[cause] += count
                templates[cause] += 1
    found = [(cause, count, templates[cause]) for cause, count in verdicts.items()]
    return tuple(sorted(found, key=lambda row: (-row[1], row[0])))


Waiting: TypeAlias = tuple[str, str]
"""A source and its text's digest."""


@dataclass(frozen=True, slots=True)
class SurveyResult:
    """The result for one template."""

    record: SurveyRecord
    """The line for the survey's file, as for `"GLM-4.6.jinja"`."""
    page: str = ""
    """The drawn page; empty if pages were not requested, or if the template neither renders nor can
    be analyzed."""


Survey: TypeAlias = Callable[[Sequence[Waiting]], Iterator[SurveyResult]]
"""Yields the results in the order of the templates, each as soon as it is ready."""


@dataclass(frozen=True, slots=True)
class SurveyLook:
    """The settings of a survey. It is sent to workers, so its fields must be picklable."""

    linted: bool = False
    """Whether lint runs; it always does if pages are drawn, which show its findings."""
    draw: Callable[[Portrait], str] | None = None
    """Draws a template's report page, or None for no pages."""

    def __call__(self, waiting: Waiting) -> SurveyResult:
        """Analyze one template or saved format; every failure becomes a record."""
        source, digest = waiting
        try:
            learned = surveyed_format(source)
            if not isinstance(learned, Analysis):
                return SurveyResult(survey_record(source, digest, learned))
            if self.draw is not None:
                # No tokenizer: timing masks while other workers run would be meaningless.
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
    """Start workers and yield a function that surveys templates; call before starting threads.

    `limits` apply to each template. Without limits, templates are trusted and one process means
    this one.
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
    outcomes = pool.map(look, waiting, name=lambda entry: entry[0])
    for (source, digest), outcome in zip(waiting, outcomes, strict=True):
        error = outcome.error
        if error is None:
            yield outcome.result()
        else:
            yield SurveyResult(SurveyRecord.failed(source, digest, error.message))
