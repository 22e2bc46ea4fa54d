"""The report on round trips and its document."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rich.cells import cell_len

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.history.round_trips import RoundTrip, fixing_setting, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.reports import roundtrip_document, roundtrip_report, roundtrip_screen
from autoparser.reports.roundtrip import ABOUT, FAULTS
from tests.analysis.history.vocabularies import tiny
from tests.fixture_analyses import analysed
from tests.lanes import sampled

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "roundtrip.schema.json").read_text("utf-8"))
NAMES = (
    "history-last-query",
    "history-content-stripped",
    "history-tool-cycle",
    "history-kept-with-tools",
    "t2-recipient-header",
    "a4-type-flags",
    "reasoning-none",
    "content-parts-required",
    "multibyte-markers",
)


@cache
def played(name: str, *, tokens: bool = False) -> tuple[Analysis, RoundTrip]:
    analysis = analysed(name)
    tokenizer = tiny(*analysis.format.stop_strings) if tokens else None
    return analysis, round_trip(analysis, shipped_scenarios(), tokenizer=tokenizer)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", sampled(NAMES, 2))
def test_no_line_is_wider_than_was_asked_for(name: str, width: int) -> None:
    for tokens in (False, True):
        analysis, found = played(name, tokens=tokens)
        for in_full in (False, True):
            lines = roundtrip_report(analysis, found, width, in_full=in_full).plain.split("\n")
            assert all(cell_len(line) <= width for line in lines)
            assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("name", sampled(NAMES, 2))
def test_every_scenario_has_its_row(name: str) -> None:
    analysis, found = played(name)
    lines = roundtrip_report(analysis, found, 200, in_full=True).plain.split("\n")
    for row in found.rows:
        start = f"{row.scenario.name:29}  {row.next:8}  {row.verdict.outcome}"
        assert sum(line.startswith(start) for line in lines) == 1


@pytest.mark.parametrize("name", sampled(NAMES, 2))
def test_what_holds_is_folded_and_what_breaks_stands_under_whose_fault_it_is(name: str) -> None:
    analysis, found = played(name)
    lines = roundtrip_report(analysis, found, 400).plain.split("\n")
    for fault, words in FAULTS.items():
        names = [row.scenario.name for row in found.rows if row.verdict.fault is fault]
        if not names:
            assert not any(line.startswith(words) for line in lines)
            continue
        at = lines.index(f"{words}: {len(names)}")
        assert [line[:29].rstrip() for line in lines[at + 2 : at + 2 + len(names)]] == names
    holding = sum(row.verdict.fault is None for row in found.rows)
    folded = next(line for line in lines if line.startswith("What comes back as it was sampled"))
    assert folded.startswith(f"What comes back as it was sampled: {holding}: ")
    assert not any(line[41:].startswith("holds") for line in lines)


def test_texts_of_wide_characters_take_a_line_each() -> None:
    lines = roundtrip_report(*played("a2-5-section-and-separator"), 80, in_full=True).plain
    pairs = re.findall(r"^    sampled  .*\n(.*)\n(.*)", lines, re.MULTILINE)
    assert any("｜" in rendered for rendered, _ in pairs)
    for rendered, after in pairs:
        assert rendered.startswith("    rendered ")
        assert not after.startswith(" " * 14), after


@pytest.mark.parametrize("name", sampled(NAMES, 2))
def test_the_screen_counts_every_break_and_fits_an_ordinary_terminal(name: str) -> None:
    analysis, found = played(name)
    drawn = roundtrip_screen(analysis, found, 80).plain
    assert len(drawn.splitlines()) <= 40
    assert all(cell_len(line) <= 80 for line in drawn.splitlines())
    breaks = [row.verdict for row in found.rows if row.verdict.fault is not None]
    groups = re.findall(
        r"^\S.*: (\d+)\n((?:  .+\n)+)", drawn.partition("\nUnder other")[0], re.MULTILINE
    )
    assert sum(int(total) for total, _ in groups) == len(breaks)
    assert sum(int(count) for _, said in groups for count in re.findall(r"\b\d+\b", said)) == len(
        breaks
    )
    first = next((each for culprit in FAULTS for each in breaks if each.fault is culprit), None)
    assert (first is None) == ("template author" not in drawn)


def test_a_note_on_a_setting_is_printed_once() -> None:
    report = roundtrip_report(*played("history-last-query"), 80).plain
    assert report.count("holds with preserve_thinking=true") == 1
    assert len([row for row in played("history-last-query")[1].rows if fixing_setting(row)]) > 1


def test_without_a_tokenizer_the_tokens_are_not_judged_and_the_report_says_so() -> None:
    analysis, found = played("history-last-query")
    report = roundtrip_report(analysis, found, 80).plain
    assert "No tokenizer: --tokenizer PATH" in report
    full = roundtrip_report(analysis, found, 80, in_full=True).plain
    assert "tool call + reasoning          tool      holds   -" in full


def test_with_a_tokenizer_the_tokens_are_counted() -> None:
    analysis, found = played("history-last-query", tokens=True)
    report = roundtrip_report(analysis, found, 80, in_full=True).plain
    assert "No tokenizer" not in report
    row = next(row for row in found.rows if row.scenario.name == "many parameters")
    assert row.verdict.tokens is not None
    assert f"holds   {row.verdict.tokens.reused}/{row.verdict.tokens.sampled}" in report


def test_a_condition_and_a_difference_are_shown() -> None:
    analysis, found = played("history-last-query")
    lines = roundtrip_report(analysis, found, 80).plain.split("\n")
    at = next(at for at, line in enumerate(lines) if line.startswith("reasoning + answer"))
    assert lines[at].split() == [
        "reasoning",
        "+",
        "answer",
        "user",
        "breaks",
        "-",
        "reasoning",
        "dropped",
    ]
    note = next(line for line in lines if line.startswith("  holds with preserve_thinking=true: "))
    assert "reasoning + answer" in note
    sampled = next(line for line in lines if line.startswith("    sampled "))
    rendered = next(line for line in lines if line.startswith("    rendered "))
    assert "<|im_start|>assistant↵" in sampled
    assert "<think>↵" in sampled
    assert "<think>" not in rendered


def test_every_cause_is_explained() -> None:
    assert set(ABOUT) == set(Cause)
    assert set(FAULTS) == set(Culprit)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("name", sampled(NAMES, 2))
def test_every_document_is_as_the_schema_says(name: str, tokens: bool) -> None:
    document = roundtrip_document(*played(name, tokens=tokens))
    read: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    Draft202012Validator(SCHEMA).validate(read)
    assert read["schema"] == "autoparser.roundtrip/2"


def test_the_schema_is_one_and_knows_every_cause() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    (code, none) = SCHEMA["$defs"]["Verdict"]["properties"]["cause"]["anyOf"]
    assert len(code["enum"]) == len(Cause)
    assert none == {"type": "null"}
