"""The command fix: the diff, the files, the exit codes, the JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.analysis.loading.sources.gguf_files import write_model

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
FIRES = ROOT / "fixtures" / "lint" / "AP401" / "fires.jinja"
OLD, NEW = "message.reasoning_content and loop.last", "message.reasoning_content"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jinja"
    path.write_text(FIRES.read_text("utf-8"), encoding="utf-8")
    return path


def test_a_diff_is_shown_and_the_file_is_left_as_it_is(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, "--select", "AP401")
    assert ran.code == 1
    assert f"-    {{%- if {OLD} %}}\n+    {{%- if {NEW} %}}\n" in ran.out
    assert f"--- a{template}\n+++ b{template}\n" in ran.out
    assert "fixed AP401" in ran.err
    assert "--write changes the files" in ran.err
    assert template.read_text("utf-8") == FIRES.read_text("utf-8")


def test_the_file_is_written_and_then_there_is_nothing_to_do(
    autoparser: Run, template: Path
) -> None:
    ran = autoparser("fix", template, "--select", "AP401", "--write")
    assert (ran.code, ran.out) == (1, "")
    assert template.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)
    again = autoparser("fix", template, "--select", "AP401", "--write", "--diff")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to fix in 1 template." in again.err


def test_lint_fixes_first(autoparser: Run, template: Path) -> None:
    ran = autoparser("lint", template, "--select", "AP401", "--fix", "--fail-on", "warning")
    assert ran.code == 0
    assert template.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)


def test_json_holds_the_proof(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, "--select", "AP401", "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "fix.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    (shown,) = document["templates"]
    (finding,) = shown["findings"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert shown["text"] == FIRES.read_text("utf-8").replace(OLD, NEW)
    assert 0 < finding["proof"]["changed"] < finding["proof"]["conversations"]


def test_what_is_no_file_of_a_template_alone_is_not_written(
    autoparser: Run, tmp_path: Path
) -> None:
    config = tmp_path / "tokenizer_config.json"
    text = json.dumps({"chat_template": FIRES.read_text("utf-8")})
    config.write_text(text, encoding="utf-8")
    ran = autoparser("fix", config, "--select", "AP401", "--write")
    assert (ran.code, ran.out) == (2, "")
    assert "--write changes files that hold a template alone" in ran.err
    assert config.read_text("utf-8") == text


@pytest.mark.parametrize(("more", "code"), [((), 1), (("--write",), 2)])
def test_standard_input_is_shown_and_not_written(
    more: tuple[str, ...],
    code: int,
    autoparser: Run,
    template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(template.read_bytes())))
    ran = autoparser("fix", "-", "--select", "AP401", *more)
    assert (ran.code, f"+    {{%- if {NEW} %}}\n" in ran.out) == (code, not more)
    assert ("--write changes files that hold a template alone" in ran.err) is bool(more)
    assert [*tmp_path.iterdir()] == [template]


def test_the_template_of_a_saved_format_is_fixed(autoparser: Run, template: Path) -> None:
    saved = template.with_name("saved.json")
    autoparser("analyze", template, "--format", "file", "-o", saved)
    elsewhere = template.rename(template.with_name("elsewhere.jinja"))
    command = ("fix", saved, "--select", "AP401")
    refused = autoparser(*command)
    assert refused.code == 2
    assert "--template PATH" in refused.err
    ran = autoparser(*command, "--template", elsewhere, "--write")
    assert ran.code == 1
    assert elsewhere.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)
    without = autoparser("fix", elsewhere, "--select", "AP401", "--template", elsewhere)
    assert without.code == 2
    assert "--template says where the template of a saved format is" in without.err


def test_a_gguf_file_is_shown_and_not_written(autoparser: Run, tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", FIRES.read_text("utf-8"))
    ran = autoparser("fix", path, "--select", "AP401")
    assert (ran.code, f"+    {{%- if {NEW} %}}\n" in ran.out) == (1, True)
    held = path.read_bytes()
    assert autoparser("fix", path, "--select", "AP401", "--write").code == 2
    assert path.read_bytes() == held


def test_what_cannot_be_read_is_a_problem(autoparser: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jinja"
    broken.write_text("{% if %}", encoding="utf-8")
    ran = autoparser("fix", broken)
    assert (ran.code, ran.out) == (2, "")
    # A long path is broken into lines as all text is.
    assert str(broken) in ran.err.replace("\n", "")


def test_a_rule_that_cannot_be_fixed_is_named(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, "--select", "AP101")
    assert ran.code == 2
    assert "no rule is left whose findings can be fixed" in ran.err
