"""What every command says of a template that spoils what users send: none of them is green."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.core.message_battery import battery_messages

from .conftest import ROOT, Run

TEMPLATES: dict[str, Any] = yaml.safe_load((ROOT / "fixtures/usual_form.yaml").read_text("utf-8"))
REVERSED, LOST = "arguments reversed", "user lost where tools are offered"
MESSAGES = battery_messages()
ALL = len(MESSAGES)
CALLING = sum(bool(case.message.calls) for case in MESSAGES) + 1
"""Conversations with calls; all but the one without arguments are spoiled."""


@pytest.fixture(params=[REVERSED, LOST])
def spoiled(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written(str(request.param), tmp_path)


def written(name: str, tmp_path: Path) -> Path:
    path = tmp_path / "spoiled.jinja"
    path.write_text(TEMPLATES[name]["template"], "utf-8")
    return path


def test_analysis_and_its_saved_format_name_what_is_spoiled(
    autoparser: Run, spoiled: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    ran = autoparser("analyze", spoiled)
    said = " ".join(ran.out.split())
    assert ran.code == 1
    assert f"self-check {ALL}/{ALL}, usual form " in said
    assert "Findings 1 error: as users send it (" in said
    assert autoparser("analyze", spoiled, "--format", "file", "-o", saved).code == 1
    for source in (spoiled, saved):
        ran = autoparser("analyze", source)
        assert ran.code == 1
        assert ": spoiled as users send it" in " ".join(ran.out.split())


def test_faults_and_a_page_show_both_renders(autoparser: Run, tmp_path: Path) -> None:
    template = written(REVERSED, tmp_path)
    lines = autoparser("analyze", template, "--show", "faults").out.splitlines()
    title = f"Arguments as an object: {CALLING - 1} of {CALLING} conversations are spoiled"
    assert lines[0] == title
    assert "  - arguments as an object, + arguments as JSON text" in lines
    assert '  - }3 :"syad" ,"olsO" :"ytic"{' in lines
    assert '  + {"city": "Oslo", "days": 3}' in lines
    page = autoparser("report", template).out
    assert f"usual form 1/{CALLING}" in page
    assert "as users send it (arguments as an object)" in page


def test_json_has_each_form_that_was_asked(autoparser: Run, tmp_path: Path) -> None:
    ran = autoparser("analyze", written(REVERSED, tmp_path), "--json")
    (form,) = json.loads(ran.out)["check"]["forms"]
    fault = form.pop("fault")
    assert (fault["title"], len(form.pop("spoiled"))) == ("a call and its result", CALLING - 1)
    assert fault["usual"] != fault["wanted"]
    assert form == {
        "usual": "arguments as an object",
        "wanted": "arguments as JSON text",
        "asked": CALLING,
        "raised": 0,
        "reason": "",
        "unread": 0,
    }


def test_a_saved_format_from_before_the_question_is_read_and_says_what_is_wanted(
    autoparser: Run, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    autoparser("analyze", written(REVERSED, tmp_path), "--format", "file", "-o", saved)
    document = json.loads(saved.read_text("ascii"))
    for check in document["checks"]:
        del check["forms"]
    document["gate"]["faults"] = []
    del document["gate"]["usual_asked"], document["gate"]["usual_passed"]
    saved.write_text(json.dumps(document), "ascii")
    ran = autoparser("analyze", saved)
    assert ran.code == 0
    assert "It wants   arguments as JSON text\n" in ran.out


def test_export_decode_and_round_trip_are_not_green(autoparser: Run, spoiled: Path) -> None:
    exported = autoparser("export", spoiled)
    assert exported.code == 1
    assert "as users send it (" in exported.err
    decoded = autoparser("decode", spoiled, "--walks", "2", "--json")
    document = json.loads(decoded.out)
    assert (decoded.code, document["ok"]) == (1, False)
    assert document["usual_form"]["spoiled"]
    played = autoparser("roundtrip", spoiled, "--fail-on", "any", "--json")
    assert played.code == 1
    assert json.loads(played.out)["usual_form"] == document["usual_form"]
    assert "usual form " in autoparser("roundtrip", spoiled).out


def test_lint_and_survey_are_not_green(autoparser: Run, spoiled: Path, tmp_path: Path) -> None:
    ran = autoparser("lint", spoiled, "--format", "json")
    found = json.loads(ran.out)["templates"][0]["findings"]
    (finding,) = (each for each in found if each["code"] == "AP121")
    (evidence,) = finding["evidence"]
    assert (ran.code, finding["severity"]) == (1, "error")
    assert evidence["one"]["text"] != evidence["other"]["text"]
    records = tmp_path / "records.jsonl"
    autoparser("survey", spoiled, "--records", records)
    check = json.loads(records.read_text("utf-8").splitlines()[0])["check"]
    text = spoiled.read_text("utf-8")
    (expected,) = (each.get("spoiled") for each in TEMPLATES.values() if each["template"] == text)
    assert (check["passed"], check["spoiled"]) == (check["total"], expected)


def test_vllm_is_not_blamed_for_what_the_template_does(autoparser: Run, tmp_path: Path) -> None:
    ran = autoparser("roundtrip", written(REVERSED, tmp_path), "--profile", "vllm")
    assert "The template writes the message otherwise" in ran.out
    assert "The engine puts something else" not in ran.out
