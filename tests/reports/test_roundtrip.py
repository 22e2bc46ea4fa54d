"""The report on round trips and its document."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rich.cells import cell_len

from autoparser import analyze, load_template
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.history.roundtrip import Cause, RoundTrip, round_trip, shipped_scenarios
from autoparser.reports import roundtrip_document, roundtrip_report
from autoparser.reports.roundtrip import ABOUT
from tests.analysis.history.roundtrip.vocabularies import tiny

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
    analysis = analyze(load_template(ROOT / "fixtures" / "templates" / f"{name}.jinja"))
    tokenizer = tiny(*analysis.format.stop_strings) if tokens else None
    return analysis, round_trip(analysis, shipped_scenarios(), tokenizer=tokenizer)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_was_asked_for(name: str, width: int) -> None:
    for tokens in (False, True):
        analysis, found = played(name, tokens=tokens)
        for in_full in (False, True):
            lines = roundtrip_report(analysis, found, width, in_full=in_full).plain.split("\n")
            assert all(cell_len(line) <= width for line in lines)
            assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_has_its_row(name: str) -> None:
    analysis, found = played(name)
    report = roundtrip_report(analysis, found, 80).plain
    table = report.partition("why it breaks\n")[2].partition("\n\n")[0]
    starts = [line for line in table.split("\n") if not line.startswith(" ")]
    assert len(starts) >= len(found.rows)
    for row in found.rows:
        assert row.scenario.name in table


def test_without_a_tokenizer_the_tokens_are_not_judged_and_the_report_says_so() -> None:
    analysis, found = played("history-last-query")
    report = roundtrip_report(analysis, found, 80).plain
    assert "No tokenizer: --tokenizer PATH" in report
    assert "tool call + reasoning          tool      holds   -" in report


def test_with_a_tokenizer_the_tokens_are_counted() -> None:
    analysis, found = played("history-last-query", tokens=True)
    report = roundtrip_report(analysis, found, 80).plain
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
    assert lines[at + 1] == "    holds with preserve_thinking=true"
    sampled = next(line for line in lines if line.startswith("    sampled "))
    rendered = next(line for line in lines if line.startswith("    rendered "))
    assert "<|im_start|>assistant↵" in sampled
    assert "<think>↵" in sampled
    assert "<think>" not in rendered


def test_every_cause_is_explained() -> None:
    assert set(ABOUT) == set(Cause)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_document_is_as_the_schema_says(name: str, tokens: bool) -> None:
    document = roundtrip_document(*played(name, tokens=tokens))
    read: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    Draft202012Validator(SCHEMA).validate(read)
    assert read["schema"] == "autoparser.roundtrip/1"


def test_the_schema_is_one_and_knows_every_cause() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    (code, none) = SCHEMA["$defs"]["Verdict"]["properties"]["cause"]["anyOf"]
    assert len(code["enum"]) == len(Cause)
    assert none == {"type": "null"}
