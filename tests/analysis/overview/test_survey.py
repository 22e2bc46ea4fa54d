"""Surveys: the templates below a folder, their records, the file that keeps them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser import AutoparserError, Limits
from autoparser.analysis.formats.format_view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.overview.survey import (
    SURVEY,
    SurveyCheck,
    SurveyRecord,
    read_journal,
    record_line,
    start_survey,
    summarize_records,
    templates_in,
)
from tests.fixture_analyses import TEMPLATES

SCHEMA = Path(__file__).parents[3] / "docs" / "survey.schema.json"


def record(name: str, **more: Any) -> SurveyRecord:
    plain: dict[str, Any] = {
        "error": None,
        "content": ContentMode.PLAIN,
        "tools": ToolFormat.JSON_NATIVE,
    }
    call = "<c>«name»«arguments»</c>"
    return SurveyRecord(SURVEY, f"{name}.jinja", name * 64, call=call, **plain, **more)


B = record(
    "b",
    reasoning=ReasoningMode.TAG_BASED,
    switches=("x", "y"),
    check=SurveyCheck(43, 44),
    round_trip={"holds": 3, "ids": 1},
)
C = record(
    "c",
    reasoning=ReasoningMode.NONE,
    switches=("x",),
    check=SurveyCheck(44, 44),
    round_trip={"holds": 4},
)
RECORDS = (SurveyRecord.failed("a.jinja", "a" * 64, "it does not compile"), B, C)


def test_survey_line_round_trips_and_a_partial_line_is_dropped() -> None:
    lines = [record_line(record).encode() for record in RECORDS]
    for record, line in zip(RECORDS, lines, strict=True):
        Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(json.loads(line))
        journal = read_journal(line, "s.jsonl")
        assert journal.records == {(record.source, record.sha256): record}
        assert (journal.size, journal.repaired, line.isascii()) == (len(line), False, True)
    content = b"".join(lines)
    for cut in range(1, len(lines[-1])):
        journal = read_journal(content[:-cut], "s.jsonl")
        assert (len(journal.records), journal.repaired) == (2, True)
        assert journal.size == len(content) - len(lines[-1])


def test_foreign_or_invalid_file_is_not_a_survey() -> None:
    for content in (b"hello\n", b"{}\n", b'{"schema": "autoparser.survey/2"}\n', b"half a note"):
        with pytest.raises(AutoparserError, match="nothing was written"):
            read_journal(content, "notes.txt")
    lines = "".join(map(record_line, RECORDS))
    for old, new, words in (
        ('"total": 44', '"total": "44"', r"line \d\.check\.total: must be a number, got a string"),
        (
            "survey/1",
            "survey/2",
            r"line 1\.schema: must be autoparser.survey/1, got 'autoparser.survey/2'",
        ),
    ):
        with pytest.raises(AutoparserError, match=words):
            read_journal(lines.replace(old, new).encode(), "s.jsonl")


def test_templates_are_found_once_in_order(tmp_path: Path) -> None:
    files = "b/chat_template.jinja b/tokenizer_config.json c/tokenizer_config.json a.jinja a.txt"
    for name in files.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = templates_in([str(tmp_path), str(tmp_path / "a.jinja")])
    names = [Path(path).relative_to(tmp_path).as_posix() for path in found]
    assert names == ["a.jinja", "b/chat_template.jinja", "c/tokenizer_config.json"]


def test_folder_without_templates_is_an_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(AutoparserError, match=r"no template|no such file"):
            templates_in([str(place)])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AutoparserError, match="neither a file nor a directory"):
        templates_in([str(tmp_path / "pipe")])


@pytest.mark.slow
def test_survey_keeps_order_and_fails_only_an_endless_template(tmp_path: Path) -> None:
    endless = tmp_path / "endless.jinja"
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    endless.write_text(loops, encoding="utf-8")
    names = [str(TEMPLATES / f"{name}.jinja") for name in ("j1-json-in-tags", "content-plain")]
    waiting = [(name, "d" * 64) for name in names]
    with start_survey(1, None) as survey:
        alone = list(survey(waiting))
    assert [found.record.source for found in alone] == names
    assert (alone[0].record.call or "").startswith('<tool_call>\n{"name": "«name»"')
    assert alone[1].record.ok
    with start_survey(2, Limits(seconds=20, render_seconds=0.5)) as survey:
        first, *others = survey([(str(endless), "a"), *waiting])
    assert "takes more than" in (first.record.error or "")
    assert others == alone


def test_summary_counts_records_families_switches_and_causes() -> None:
    summary = summarize_records(RECORDS)
    assert (summary.all.templates, summary.all.ok, len(summary.failed)) == (3, 1, 1)
    assert (summary.all.trips_holding, summary.all.trip_count) == (7, 8)
    assert [(share.name, share.templates) for share in summary.tools] == [("JSON_NATIVE", 2)]
    assert [share.name for share in summary.reasoning] == ["NONE", "TAG_BASED"]
    assert [(family.templates, family.examples) for family in summary.families] == [
        (2, ("b.jinja", "c.jinja"))
    ]
    assert summary.switches == (("x", 2), ("y", 1))
    assert summary.causes == (("ids", 1, 1),)
