"""The command fix: the diff, the files, the exit codes, the JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

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
