"""A survey's records as JSON Lines, so that one that was interrupted goes on.

Contract: a line is a whole record or none. The last one may be half written; it is left out, and
`Journal.size` says where whole lines end, so that whoever writes cuts the file there first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta, Struct

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read
from autoparser.analysis.core.json_document import Count, Digest, json_of
from autoparser.analysis.describing.view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.lint import Severity

from .record import Record

_OTHER = "name another file with --records; nothing was written to this one"


@dataclass(frozen=True, slots=True)
class Journal:
    """What a file of records holds."""

    records: Mapping[tuple[str, str], Record] = field(default_factory=dict[tuple[str, str], Record])
    """By source and digest."""
    size: int = 0
    """Bytes of its whole lines."""
    repaired: bool = False
    """Whether there is half a line after them."""


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


class SurveyLine(Struct, frozen=True):
    """A line as it stands in the file; what is empty in a record is null in it."""

    schema: Literal["autoparser.survey/1"]
    """Name and version; a change that is more than an addition counts it up."""
    source: str
    """The file, as it was found below what was named."""
    sha256: Digest
    """Of the template's text; of its file where no text can be read from it."""
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
    """Verdicts counted: `holds`, and the codes of causes."""
    findings: dict[Severity, Count] | None = None
    """What lint found, counted by severity; null where it was not asked."""


def line_of(record: Record) -> str:
    """Write a record as one line, the newline at its end included."""
    line = SurveyLine(
        "autoparser.survey/1",
        record.source,
        record.sha256,
        record.error or None,
        ReasoningMode(record.reasoning) if record.reasoning else None,
        ContentMode(record.content) if record.content else None,
        ToolFormat(record.tools) if record.tools else None,
        record.call or None,
        record.switches,
        SurveyCheck(
            record.passed,
            record.total,
            record.equal,
            record.refused,
            record.crashed,
            record.not_asked,
            record.crash or None,
        ),
        dict(record.trips),
        None if record.findings is None else dict(record.findings),
    )
    # The standard library's writer: what a template says may hold half a surrogate pair.
    return json.dumps(json_of(line)) + "\n"


def journal_of(content: bytes, file: str) -> Journal:
    """Read what a file holds. Raises AutoparserError for a file that is not a survey's."""
    whole, newline, rest = content.rpartition(b"\n")
    records: dict[tuple[str, str], Record] = {}
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        record = _record(line, file, f"line {number}")
        records[record.source, record.sha256] = record
    if not newline and rest and not rest.startswith(b'{"schema": "autoparser.survey/'[: len(rest)]):
        raise AutoparserError(
            "this is not a survey",
            file=file,
            hint=_OTHER,
        )
    return Journal(records, len(whole) + len(newline), bool(rest))


def _record(line: bytes, file: str, place: str) -> Record:
    try:
        document: object = json.loads(line)
    except (ValueError, RecursionError):
        words = "this is not a line of a survey"
        raise AutoparserError(words, file=file, place=place, hint=_OTHER) from None
    found = read(document, SurveyLine, file=file, place=place, hint=_OTHER)
    return Record(
        found.source,
        found.sha256,
        error=found.error or "",
        reasoning=found.reasoning or "",
        content=found.content or "",
        tools=found.tools or "",
        call=found.call or "",
        switches=found.switches,
        passed=found.check.passed,
        total=found.check.total,
        equal=found.check.equal,
        refused=found.check.refused,
        crashed=found.check.crashed,
        not_asked=found.check.not_asked,
        crash=found.check.crash or "",
        trips=found.round_trip,
        findings=found.findings,
    )
