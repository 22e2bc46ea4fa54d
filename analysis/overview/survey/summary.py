"""What a set of records adds up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .record import HOLDS, Record


@dataclass(frozen=True, slots=True)
class RecordShare:
    """Records that have something in common."""

    name: str
    templates: int
    ok: int
    """Those of them whose self-check passes."""
    held: int
    """Round trips that hold, over all of them."""
    played: int


@dataclass(frozen=True, slots=True)
class Family:
    """Templates that write a call alike."""

    call: str
    share: RecordShare
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A corpus at a glance."""

    all: RecordShare
    failed: tuple[Record, ...]
    """Those that cannot be analysed."""
    crashing: tuple[Record, ...]
    """Those that crash on what agents send."""
    reasoning: tuple[RecordShare, ...]
    content: tuple[RecordShare, ...]
    tools: tuple[RecordShare, ...]
    families: tuple[Family, ...]
    """Those with calls, the largest first."""
    switches: tuple[tuple[str, int], ...]
    """Names of switches, and how many templates have them."""
    causes: tuple[tuple[str, int, int], ...]
    """Codes of causes, how many round trips break by them, and in how many templates."""


EXAMPLES = 3


def summary_of(records: Sequence[Record]) -> Summary:
    """Add records up."""
    analysed = [record for record in records if not record.error]
    switches = Counter(name for record in analysed for name in record.switches)
    return Summary(
        _share("all", records),
        tuple(record for record in records if record.error),
        tuple(record for record in analysed if record.check.crash),
        _by(analysed, lambda record: record.reasoning or ""),
        _by(analysed, lambda record: record.content or ""),
        _by(analysed, lambda record: record.tools or ""),
        _families([record for record in analysed if record.call]),
        tuple(sorted(switches.items(), key=lambda each: (-each[1], each[0]))),
        _causes(analysed),
    )


def _share(name: str, records: Iterable[Record]) -> RecordShare:
    listed = list(records)
    return RecordShare(
        name,
        len(listed),
        sum(record.ok for record in listed),
        sum(record.held for record in listed),
        sum(record.played for record in listed),
    )


def _by(records: Sequence[Record], name: Callable[[Record], str]) -> tuple[RecordShare, ...]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    shares = [_share(each, group) for each, group in groups.items()]
    return tuple(sorted(shares, key=lambda share: (-share.templates, share.name)))


def _families(records: Sequence[Record]) -> tuple[Family, ...]:
    return tuple(
        Family(
            share.name,
            share,
            tuple(record.source for record in records if record.call == share.name)[:EXAMPLES],
        )
        for share in _by(records, lambda record: record.call or "")
    )


def _causes(records: Sequence[Record]) -> tuple[tuple[str, int, int], ...]:
    verdicts: Counter[str] = Counter()
    templates: Counter[str] = Counter()
    for record in records:
        for cause, count in record.round_trip.items():
            if cause != HOLDS:
                verdicts[cause] += count
                templates[cause] += 1
    found = [(cause, count, templates[cause]) for cause, count in verdicts.items()]
    return tuple(sorted(found, key=lambda each: (-each[1], each[0])))
