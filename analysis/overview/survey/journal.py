"""A survey's records as JSON Lines, so that one that was interrupted goes on.

Contract: a line is a whole record or none. The last one may be half written; it is left out, and
`Journal.size` says where whole lines end, so that whoever writes cuts the file there first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, cast

import msgspec
from msgspec import Struct

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read

from .record import Record

SURVEY_SCHEMA: Final = "autoparser.survey/1"
"""Name and version of a line's schema; a change that is not a mere addition counts it up."""
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


class _Check(Struct, frozen=True):
    passed: int
    total: int
    equal: int = 0
    refused: int = 0
    crashed: int = 0
    not_asked: int = 0
    crash: str | None = None


class _Line(Struct, frozen=True):
    """A line as it stands in the file; what is empty in a record is null in it."""

    schema: Literal["autoparser.survey/1"]
    source: str
    sha256: str
    error: str | None
    reasoning: str | None
    content: str | None
    tools: str | None
    call: str | None
    switches: tuple[str, ...]
    check: _Check
    round_trip: dict[str, int]


def line_of(record: Record) -> str:
    """Write a record as one line, the newline at its end included."""
    line = _Line(
        SURVEY_SCHEMA,
        record.source,
        record.sha256,
        record.error or None,
        record.reasoning or None,
        record.content or None,
        record.tools or None,
        record.call or None,
        record.switches,
        _Check(
            record.passed,
            record.total,
            record.equal,
            record.refused,
            record.crashed,
            record.not_asked,
            record.crash or None,
        ),
        dict(record.trips),
    )
    # The standard library's writer: what a template says may hold half a surrogate pair.
    return json.dumps(msgspec.to_builtins(line)) + "\n"


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
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        words = "this is not a line of a survey"
        raise AutoparserError(words, file=file, place=place, hint=_OTHER)
    found = read(cast("object", document), _Line, file=file, place=place, hint=_OTHER)
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
    )
