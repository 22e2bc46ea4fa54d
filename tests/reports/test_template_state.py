"""Rebuild the page about many templates from stored records, and recount its numbers.

`state/records.jsonl` has seven of the project's own templates, one of them under two names.
UPDATE_SNAPSHOTS=1 writes the page anew.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.overview.engine_readings import EngineReading
from autoparser.analysis.overview.survey import SurveyRecord, read_journal, record_at
from autoparser.analysis.overview.template_state import StateClaim, count_state
from autoparser.reports.template_state import ChartBar, StatePage, bar_chart, state_page
from tests.case_tables import compare_snapshot

STATE = Path(__file__).with_name("state")
RECORDS = STATE / "records.jsonl"
Raw = dict[str, Any]


def stored() -> list[SurveyRecord]:
    return [*read_journal(RECORDS.read_bytes(), RECORDS.name).records.values()]


def raw_texts() -> list[Raw]:
    rows = [json.loads(line) for line in RECORDS.read_text("utf-8").splitlines()]
    return [*{row["sha256"]: row for row in rows}.values()]


def page_of(records: list[SurveyRecord]) -> StatePage:
    return state_page(count_state(records), "this project's fixtures", "state")


@pytest.fixture
def fixed_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the texts of rules, so that edits of their pages do not change the stored page."""

    def worded(code: str) -> Rule:
        words = {"summary": f"The fault {code}", "why": "It matters.", "fix": "write it"}
        return replace(find_rule(code), before="{{ x }}", after="{{ x or '' }}", **words)

    monkeypatch.setattr("autoparser.reports.template_state.find_rule", worded)


@pytest.mark.usefixtures("fixed_rules")
def test_page_and_pictures_are_rebuilt_from_stored_records() -> None:
    page = page_of(stored())
    for name, text in {"state.md": page.text, **page.pictures}.items():
        compare_snapshot(STATE / name, text)
        assert page_of(stored()[::-1]).text == page.text
    assert all(f"]({name})" in page.text for name in page.pictures)


def test_every_number_equals_a_recount_of_the_records() -> None:
    state, rows = count_state(stored()), raw_texts()
    known = [row for row in rows if not row["error"]]
    calling = [row for row in known if row["call"]]
    assert (state.texts, state.names, len(state.failed)) == (len(rows), len(rows) + 1, 1)
    assert (state.calling, state.linted) == (len(calling), len(known))
    assert state.ways == len({row["call"] for row in calling})
    assert {row.notation: row.count for row in state.notations} == Counter(
        row["notation"] for row in calling
    )
    trips = Counter[str]()
    for row in known:
        trips.update(row["round_trip"])
    assert (state.trips, state.trips_holding) == (trips.total(), trips["holds"])
    assert state.trips_blamed == sum(sum(row["blamed"].values()) for row in known)
    by_rule = Counter(
        code
        for row in known
        for code in {
            finding["code"]
            for finding in row["found"]
            if finding["shown"] and finding["severity"] != "info"
        }
    )
    assert {row.code: row.count for row in state.mistakes} == dict(by_rule.most_common(10))
    claims = {row.claim: (row.count, row.whole) for row in state.claims}
    assert claims[StateClaim.REWRITTEN] == (sum(bool(row["blamed"]) for row in known), len(known))
    assert claims[StateClaim.ERRORS][0] == sum(row["findings"]["error"] > 0 for row in known)


def test_lost_messages_count_apart_from_refused_ones() -> None:
    kept = next(row for row in stored() if row.found and row.notation is not None)
    finding = next(iter(kept.found or ()))
    for code, raises, claim, counts in (
        ("AP314", False, StateClaim.SYSTEM_LOST, True),
        ("AP314", True, StateClaim.SYSTEM_LOST, False),
        ("AP305", False, StateClaim.TEXT_LOST, True),
        ("AP305", False, StateClaim.SYSTEM_LOST, False),
        ("AP109", True, StateClaim.NULL_CONTENT, True),
        ("AP109", False, StateClaim.NULL_CONTENT, False),
    ):
        shown = replace(finding, code=code, raises=raises, shown=True)
        assert claim.holds(replace(kept, found=(shown,))) is counts, (code, raises, claim)
        assert not claim.holds(replace(kept, found=(replace(shown, shown=False),)))


def test_page_without_lint_engines_or_analyses_has_no_empty_tables() -> None:
    failed = [row for row in stored() if row.error]
    bare = [replace(row, found=None, readings=None, fixes=None) for row in stored()]
    for records in (failed, bare):
        text = page_of(records).text
        assert "most frequent mistakes" not in text
        assert "built-in parsers" not in text
        assert not re.search(r"\|\n\n?\|---[^\n]*\n\n", text)


def test_engines_are_counted_by_text_and_template() -> None:
    first, second = [row for row in stored() if row.notation is not None][:2]
    reading = EngineReading("vllm 0.32.0", "best", "hermes", None, 10, 10, 10, 2, 2, 2)
    others = replace(reading, right=9, streamed=8, hostile_right=1, unanswered=2, late=1)
    records = [
        replace(first, readings=(reading, replace(others, engine="a", choice="own", late=0))),
        replace(second, readings=(others, replace(reading, engine="sglang 0.5", texts=0))),
    ]
    silent_engine, row = count_state(records).readings
    assert (silent_engine.engine, silent_engine.names) == ("a", (("hermes", 1),))
    assert row.shares == pytest.approx((0.95, 0.9, 0.75, 1.0))
    assert (row.reading(1), row.reading(0.8), row.names) == (1, 2, (("hermes", 2),))
    assert "| vllm 0.32.0 | the best pair | 2 | 95% | 90% | 75% |" in page_of(records).text
    silent = "2 of 20 texts not answered, as the engine raises or refuses them; 1 of them"
    assert f"vllm 0.32.0, the best pair: {silent} were not read in time." in page_of(records).text


def test_template_names_and_messages_are_escaped_on_the_page() -> None:
    evil = "x/</td>`<script>alert(1)</script>`|[a](b)\n# head.jinja"
    records = [record_at(row, f"{evil}{at}") for at, row in enumerate(stored())]
    records = [
        replace(
            row,
            found=tuple(replace(finding, message=evil) for finding in row.found or ()) or row.found,
        )
        for row in records
    ]
    text = page_of(records).text
    outside = re.sub(r"(`+).*?\1", "", text)
    assert "<script" not in outside
    assert "\n# head" not in text


@pytest.mark.parametrize("label", ['<b> & "quotes"', "plain"])
def test_bars_are_well_formed_and_proportional(label: str) -> None:
    bars = [ChartBar(label, 5, 10), ChartBar(label, 0, 10), ChartBar(label, 0, 0, good=True)]
    root = ElementTree.fromstring(bar_chart("A & B", bars))  # noqa: S314 - it was made here
    name = "{http://www.w3.org/2000/svg}rect"
    widths: dict[str, list[float]] = {kind: [] for kind in ("whole", "bad", "good")}
    for rect in root.iter(name):
        widths[rect.attrib["class"]].append(float(rect.attrib["width"]))
    assert len(widths["whole"]) == 3
    assert widths["bad"] == [widths["whole"][0] / 2]
    assert widths["good"] == []


def test_docs_page_and_its_pictures_have_the_same_counts() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "state-of-templates.md").read_text("utf-8")
    for name in ("faults", "calls"):
        picture = (docs / f"state-of-templates-{name}.svg").read_text("utf-8")
        (words,) = re.findall(r"<desc[^>]*>(.*?)</desc>", picture)
        rows = re.findall(r"(.*?): (\d+) of (\d+)(?:; |$)", html.unescape(words))
        assert rows
        for label, count, _ in rows:
            assert f"| {label} | {count} |" in text
