"""Surveys: the templates below a folder, their records, the file that keeps them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from autoparser import AutoparserError
from autoparser.analysis.core.documents import text_digest
from autoparser.analysis.formats.format_view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.overview.survey import (
    SURVEY,
    SurveyCheck,
    SurveyRecord,
    journal_of,
    line_of,
    record_of,
    start_survey,
    summary_of,
    templates_in,
)
from autoparser.analysis.templates.worker_limits import Limits

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "fixtures" / "templates"
SCHEMA = json.loads((ROOT / "docs" / "survey.schema.json").read_text(encoding="utf-8"))

RECORDS = (
    SurveyRecord.failed("a.jinja", "a" * 64, "it does not compile"),
    SurveyRecord(
        SURVEY,
        "b.jinja",
        "b" * 64,
        error=None,
        reasoning=ReasoningMode.TAG_BASED,
        content=ContentMode.PLAIN,
        tools=ToolFormat.JSON_NATIVE,
        call="<c>«name»«arguments»</c>",
        switches=("x", "y"),
        check=SurveyCheck(43, 44),
        round_trip={"holds": 3, "ids": 1},
    ),
    SurveyRecord(
        SURVEY,
        "c.jinja",
        "c" * 64,
        error=None,
        reasoning=ReasoningMode.NONE,
        content=ContentMode.PLAIN,
        tools=ToolFormat.JSON_NATIVE,
        call="<c>«name»«arguments»</c>",
        switches=("x",),
        check=SurveyCheck(44, 44),
        round_trip={"holds": 4},
    ),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.source)
def test_a_line_is_read_back_and_is_as_its_schema_says(record: SurveyRecord) -> None:
    line = line_of(record)
    Draft202012Validator(SCHEMA).validate(json.loads(line))
    assert line.isascii()
    journal = journal_of(line.encode(), "s.jsonl")
    assert journal.records == {(record.source, record.sha256): record}
    assert journal.size == len(line)
    assert not journal.repaired


def test_half_a_line_is_left_out() -> None:
    lines = "".join(map(line_of, RECORDS)).encode()
    last = len(line_of(RECORDS[-1]))
    for cut in range(1, last):
        journal = journal_of(lines[:-cut], "s.jsonl")
        assert len(journal.records) == 2
        assert journal.size == len(lines) - last
        assert journal.repaired == (cut < last)


NO_SURVEYS = [b"hello\n", b"{}\n", b'{"schema": "autoparser.survey/2"}\n', b"half a note"]


@pytest.mark.parametrize("content", NO_SURVEYS)
def test_a_file_that_is_no_survey_is_refused(content: bytes) -> None:
    with pytest.raises(AutoparserError, match="nothing was written"):
        journal_of(content, "notes.txt")


def test_a_wrong_line_is_told_with_its_place() -> None:
    lines = "".join(map(line_of, RECORDS))
    lost = lines.replace('"total": 44', '"total": "44"').encode()
    with pytest.raises(
        AutoparserError, match=r"line \d\.check\.total: this is a text, not a number"
    ):
        journal_of(lost, "s.jsonl")
    newer = lines.replace("survey/1", "survey/2").encode()
    with pytest.raises(AutoparserError, match=r"line 1\.schema: 'autoparser.survey/2' is none of"):
        journal_of(newer, "s.jsonl")


def test_templates_are_found_once_and_in_order(tmp_path: Path) -> None:
    for name in (
        "b/chat_template.jinja",
        "b/tokenizer_config.json",
        "c/tokenizer_config.json",
        "a.jinja",
        "a.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    found = templates_in([str(tmp_path), str(tmp_path / "a.jinja")])
    names = [Path(each).relative_to(tmp_path).as_posix() for each in found]
    assert names == ["a.jinja", "b/chat_template.jinja", "c/tokenizer_config.json"]


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_to_survey_is_an_error(tmp_path: Path, empty: bool) -> None:
    place = tmp_path if empty else tmp_path / "nowhere"
    with pytest.raises(AutoparserError, match="there is no"):
        templates_in([str(place)])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe_as_template_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AutoparserError, match="neither a file nor a directory"):
        templates_in([str(tmp_path / "pipe")])


def test_whatever_a_template_does_is_a_record() -> None:
    for path in sorted((FOLDER.parent / "broken").glob("*.jinja")):
        record = record_of(str(path), "d")
        assert record.error
        assert not record.ok


def test_processes_give_the_records_in_order() -> None:
    names = [
        str(FOLDER / f"{name}.jinja")
        for name in ("j1-json-in-tags", "content-plain", "j1-4-compact")
    ]
    waiting = [(name, text_digest(name)) for name in names]
    with start_survey(1, None) as surveyed:
        alone = list(surveyed(waiting))
    assert [found.record.source for found in alone] == names
    assert (alone[0].record.call or "").startswith('<tool_call>\n{"name": "«name»"')
    with start_survey(2, Limits()) as surveyed:
        assert list(surveyed(waiting)) == alone


def test_a_template_that_never_ends_costs_its_own_record(tmp_path: Path) -> None:
    endless = tmp_path / "endless.jinja"
    endless.write_text(
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        encoding="utf-8",
    )
    good = FOLDER / "content-plain.jinja"
    with start_survey(1, Limits(seconds=2, render_seconds=0.2)) as surveyed:
        first, second = surveyed([(str(endless), "a"), (str(good), "b")])
    assert "takes more than" in (first.record.error or "")
    assert second.record.ok


def test_records_add_up() -> None:
    summary = summary_of(RECORDS)
    assert (summary.all.templates, summary.all.ok, len(summary.failed)) == (3, 1, 1)
    assert (summary.all.held, summary.all.played) == (7, 8)
    assert [(share.name, share.templates) for share in summary.tools] == [("JSON_NATIVE", 2)]
    assert [share.name for share in summary.reasoning] == ["NONE", "TAG_BASED"]
    assert [(family.share.templates, family.examples) for family in summary.families] == [
        (2, ("b.jinja", "c.jinja"))
    ]
    assert summary.switches == (("x", 2), ("y", 1))
    assert summary.causes == (("ids", 1, 1),)
