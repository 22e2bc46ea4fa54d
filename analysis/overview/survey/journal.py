"""A survey's records as JSON Lines, so that one that was interrupted goes on.

Contract: a line is a whole record or none. The last one may be half written; it is left out, and
`Journal.size` says where whole lines end, so that whoever writes cuts the file there first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError

from .record import Record

SURVEY_SCHEMA = "autoparser.survey/1"
"""Name and version of a line's schema; a change that is no mere addition counts it up."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What a file of records holds."""

    records: Mapping[tuple[str, str], Record] = field(default_factory=dict[tuple[str, str], Record])
    """By source and digest."""
    size: int = 0
    """Bytes of its whole lines."""
    mended: bool = False
    """Whether there is half a line behind them."""


def line_of(record: Record) -> str:
    """Write a record as one line, the newline at its end included."""
    document: dict[str, Json] = {
        "schema": SURVEY_SCHEMA,
        "source": record.source,
        "sha256": record.sha256,
        "error": record.error or None,
        "reasoning": record.reasoning or None,
        "content": record.content or None,
        "tools": record.tools or None,
        "call": record.call or None,
        "switches": list(record.switches),
        "check": {
            "passed": record.passed,
            "total": record.total,
            "equal": record.equal,
            "refused": record.refused,
            "crashed": record.crashed,
            "not_asked": record.not_asked,
            "crash": record.crash or None,
        },
        "round_trip": dict(record.trips),
    }
    return json.dumps(document) + "\n"


def journal_of(content: bytes, file: str) -> Journal:
    """Read what a file holds. Raises AutoparserError for a file that is no survey's."""
    whole, newline, rest = content.rpartition(b"\n")
    records: dict[tuple[str, str], Record] = {}
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            raise AutoparserError(
                "this is no line of a survey",
                file=file,
                place=f"line {number}",
                hint="name another file with --output; nothing was written to this one",
            )
        records[record.source, record.sha256] = record
    if not newline and rest and not rest.startswith(b'{"schema": "autoparser.survey/'[: len(rest)]):
        raise AutoparserError(
            "this is no survey",
            file=file,
            hint="name another file with --output; nothing was written to this one",
        )
    return Journal(records, len(whole) + len(newline), bool(rest))


def _record(line: bytes) -> Record | None:
    try:
        found = cast("object", json.loads(line))
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    members = cast("dict[str, object]", found)
    if members.get("schema") != SURVEY_SCHEMA:
        return None
    check, trips = members.get("check"), members.get("round_trip")
    switches = members.get("switches")
    source, digest = members.get("source"), members.get("sha256")
    if not (
        isinstance(source, str)
        and isinstance(digest, str)
        and isinstance(check, dict)
        and isinstance(trips, dict)
        and isinstance(switches, list)
    ):
        return None
    counts = cast("dict[str, object]", check)

    def count(name: str) -> int:
        found = counts.get(name, 0)
        return found if isinstance(found, int) else 0

    texts = {key: str(members.get(key) or "") for key in _TEXTS}
    return Record(
        source,
        digest,
        error=texts["error"],
        reasoning=texts["reasoning"],
        content=texts["content"],
        tools=texts["tools"],
        call=texts["call"],
        switches=tuple(map(str, cast("list[object]", switches))),
        passed=count("passed"),
        total=count("total"),
        equal=count("equal"),
        refused=count("refused"),
        crashed=count("crashed"),
        not_asked=count("not_asked"),
        crash=str(counts.get("crash") or ""),
        trips=cast("dict[str, int]", trips),
    )


_TEXTS = ("error", "reasoning", "content", "tools", "call")
