"""A survey's records as JSON Lines, so that one that was interrupted goes on.

Contract: a line is a whole record or none. The last one may be half written; it is left out, and
`Journal.size` says where whole lines end, so that whoever writes cuts the file there first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read
from autoparser.analysis.core.json_document import json_of

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


def line_of(record: Record) -> str:
    """Write a record as one line, the newline at its end included."""
    # The standard library's writer: what a template says may hold half a surrogate pair.
    return json.dumps(json_of(record)) + "\n"


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
    return read(document, Record, file=file, place=place, hint=_OTHER)
