"""The neutral scoreboard laid out as text, with what its authors measured of engines beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution, version

from canitoolcall.fixtures import load_fixtures

from .scoreboard import REASONS, Case

STATUSES = ("pass", "soft_pass", "fail", "unasked")

ALL = len(load_fixtures())
"""How many cases the package has."""

PUBLISHED = re.compile(
    r"^\| (?P<engine>[^|]+) \| (?P<version>[^|]+)(?: \| (?P<asked>\d+))"
    r" \| (?P<good>\d+) \| (?P<soft>\d+) \| (?P<bad>\d+) \|",
    re.MULTILINE,
)
"""A row of the table of engines in the package's own description."""


def score_table(found: Sequence[Case], *, failing: bool = False) -> str:
    """Count by family, then name what is not right; `failing` shows each text and difference."""
    return "\n".join(_lines(found, failing)) + "\n"


def _lines(found: Sequence[Case], failing: bool) -> Iterator[str]:
    yield f"canitoolcall {version('canitoolcall')}: {len(found)} cases"
    yield f"{'':24}{'pass':>6}{'soft':>6}{'fail':>6}{'not asked':>11}"
    for family in dict.fromkeys(case.family for case in found):
        yield table_row(family, [case for case in found if case.family == family])
    yield table_row("autoparser", found)
    yield ""
    yield "what the package publishes of engines, by its own replay (not asked: not supported)"
    yield from published_rows()
    yield ""
    for case in found:
        if case.status != "pass":
            yield from _named(case, failing)


def published_rows() -> list[str]:
    """Return what the package's own description tells of engines, a row each."""
    rows: list[str] = []
    for row in PUBLISHED.finditer(distribution("canitoolcall").read_text("METADATA") or ""):
        good, soft, bad, asked = (int(row[name]) for name in ("good", "soft", "bad", "asked"))
        title = f"{row['engine'].strip()} {row['version'].strip(' `')}"
        rows.append(f"{title:24}{good:>6}{soft:>6}{bad:>6}{ALL - asked:>11}")
    return rows


def _named(case: Case, failing: bool) -> Iterator[str]:
    if case.status == "unasked" and not failing:
        return
    yield f"{case.status:9} {case.id}"
    if case.id in REASONS:
        yield f"{'':10}{REASONS[case.id]}"
    if failing:
        yield f"{'':10}{case.model}, behind {case.prompt!r}"
        yield f"{'':10}{case.raw!r}"
        yield f"{'':10}{case.why}"


def table_row(title: str, found: Sequence[Case]) -> str:
    """Count cases by their status, in the columns of the table."""
    counted = Counter(case.status for case in found)
    good, soft, bad, unasked = (counted[status] for status in STATUSES)
    return f"{title:24}{good:>6}{soft:>6}{bad:>6}{unasked:>11}"
