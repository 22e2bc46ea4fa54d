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

from autoparser.analysis.core.errors import Limit, TemplateLimitError
from tests.analysis.sources.gguf_files import write_model

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
FIRES = ROOT / "fixtures" / "lint" / "AP109" / "fires.jinja"
OLD, NEW = "message.content }}", "message.content or '' }}"
DROPS = ROOT / "fixtures" / "lint" / "AP401" / "fires.jinja"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jinja"
    path.write_text(FIRES.read_text("utf-8"), encoding="utf-8")
    return path


def test_a_diff_is_shown_and_the_file_is_left_as_it_is(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, "--select", "AP109")
    assert ran.code == 1
    assert f"-    {{{{- {OLD}\n+    {{{{- {NEW}\n" in ran.out
    assert f"--- a{template}\n+++ b{template}\n" in ran.out
    assert "fixed AP109" in ran.err
    assert "--write changes the files" in ran.err
    assert template.read_text("utf-8") == FIRES.read_text("utf-8")


def test_the_file_is_written_and_then_there_is_nothing_to_do(
    autoparser: Run, template: Path
) -> None:
    ran = autoparser("fix", template, "--select", "AP109", "--write")
    assert (ran.code, ran.out) == (0, "")
    assert template.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)
    again = autoparser("fix", template, "--select", "AP109", "--write", "--diff")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to fix in 1 template." in again.err


def test_lint_fixes_first(autoparser: Run, template: Path) -> None:
    ran = autoparser("lint", template, "--select", "AP109", "--fix", "--fail-on", "warning")
    assert ran.code == 0
    assert template.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)


def test_json_holds_the_proof(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, "--select", "AP109", "--json")
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
    ran = autoparser("fix", config, "--select", "AP109", "--write")
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
    ran = autoparser("fix", "-", "--select", "AP109", *more)
    assert (ran.code, f"+    {{{{- {NEW}\n" in ran.out) == (code, not more)
    assert ("--write changes files that hold a template alone" in ran.err) is bool(more)
    assert [*tmp_path.iterdir()] == [template]


def test_the_template_of_a_saved_format_is_fixed(autoparser: Run, template: Path) -> None:
    saved = template.with_name("saved.json")
    autoparser("analyze", template, "--format", "file", "-o", saved)
    elsewhere = template.rename(template.with_name("elsewhere.jinja"))
    command = ("fix", saved, "--select", "AP109")
    refused = autoparser(*command)
    assert refused.code == 2
    assert "--template PATH" in refused.err
    ran = autoparser(*command, "--template", elsewhere, "--write")
    assert ran.code == 0
    assert elsewhere.read_text("utf-8") == FIRES.read_text("utf-8").replace(OLD, NEW)
    without = autoparser("fix", elsewhere, "--select", "AP109", "--template", elsewhere)
    assert without.code == 2
    assert "--template says where the template of a saved format is" in without.err


def test_a_gguf_file_is_shown_and_not_written(autoparser: Run, tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", FIRES.read_text("utf-8"))
    ran = autoparser("fix", path, "--select", "AP109")
    assert (ran.code, f"+    {{{{- {NEW}\n" in ran.out) == (1, True)
    held = path.read_bytes()
    assert autoparser("fix", path, "--select", "AP109", "--write").code == 2
    assert path.read_bytes() == held


def test_what_cannot_be_read_is_a_problem(autoparser: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jinja"
    broken.write_bytes(b"{{ messages }}\xff")
    ran = autoparser("fix", broken)
    assert (ran.code, ran.out) == (2, "")
    # A long path is broken into lines as all text is.
    assert str(broken) in ran.err.replace("\n", "")
    assert "Not finished: 1 problem, see above." in ran.err
    assert "Nothing to fix" not in ran.err


def test_a_finding_without_a_fix_is_listed_with_its_reason(autoparser: Run) -> None:
    broken = ROOT / "fixtures" / "lint" / "AP507" / "fires.jinja"
    ran = autoparser("fix", broken, "--select", "AP507")
    words = " ".join(ran.err.split())
    assert (ran.code, ran.out) == (1, "")
    assert "stays AP507" in words
    assert "no edits are known for this rule: prompts would get another notation" in words


def test_what_lint_does_not_show_is_not_fixed(autoparser: Run) -> None:
    # Models are trained on templates that drop the reasoning of earlier turns: a convention.
    assert autoparser("lint", DROPS).code == 0
    ran = autoparser("fix", DROPS)
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing to fix in 1 template." in ran.err


def test_an_edit_that_changes_what_no_finding_calls_wrong_wants_a_word(autoparser: Run) -> None:
    ran = autoparser("fix", DROPS, "--select", "AP401")
    words = " ".join(ran.err.split())
    assert (ran.code, ran.out) == (1, "")
    assert "stays AP401 reasoning-dropped-from-earlier-turns (an unsafe fix is there)" in words
    assert "1 hidden fix can be enabled with --unsafe-fixes." in words
    assert "reasoning is left out of an earlier turn" in words
    ran = autoparser("fix", DROPS, "--select", "AP401", "--unsafe-fixes", "--json")
    document = json.loads(ran.out)
    (finding,) = document["templates"][0]["findings"]
    assert (finding["fixed"], finding["safe"]) == (True, False)
    proof = finding["proof"]
    assert proof["beyond"] == proof["changed"] > 0
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(each["before"] != each["after"] for each in proof["examples"])
    assert not any(each["asked_for"] for each in proof["examples"])


@pytest.mark.parametrize(
    "more",
    [("--select", "AP109", "--min-severity", "error"), ("--profile", "cache"), ("--baseline",)],
)
def test_what_lint_was_told_to_leave_out_is_not_fixed(
    more: tuple[str, ...], autoparser: Run, template: Path
) -> None:
    if more == ("--baseline",):
        more = (*more, str(template.with_name("known.json")))
        autoparser("lint", template, *more, "--write-baseline")
    ran = autoparser("fix", template, *more)
    assert (ran.code, ran.out) == (0, "")


def test_what_a_comment_accepts_is_not_fixed(autoparser: Run, template: Path) -> None:
    accepted = "{#- autoparser: ignore AP109 the clients send text -#}\n"
    template.write_text(accepted + template.read_text("utf-8"), encoding="utf-8")
    assert autoparser("fix", template, "--select", "AP109").code == 0


def test_a_limit_that_ends_the_search_is_named(
    autoparser: Run, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise TemplateLimitError(Limit.TASK_TIME, "this took more than 60 s")

    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", template, "--select", "AP109")
    words = " ".join(ran.err.split())
    assert (ran.code, ran.out) == (2, "")
    assert "not finished: " in words
    assert "this took more than 60 s" in words
    assert "stays AP109" in words
    assert "a limit ended the search before it was finished" in words


def test_a_link_out_of_the_folder_is_not_followed(autoparser: Run, tmp_path: Path) -> None:
    folder, text = tmp_path / "mine", FIRES.read_text("utf-8")
    folder.mkdir()
    (tmp_path / "theirs.jinja").write_text(text, encoding="utf-8")
    (folder / "linked.jinja").symlink_to(tmp_path / "theirs.jinja")
    (folder / "own.jinja").write_text(f"{text}\n", encoding="utf-8")
    ran = autoparser("fix", folder, "--select", "AP109", "--write")
    assert ran.code == 2
    assert "a link leads out of the folder that was named" in " ".join(ran.err.split())
    assert "2 of 2 findings fixed: 1 template changed, 1 not written." in " ".join(ran.err.split())
    assert (tmp_path / "theirs.jinja").read_text("utf-8") == text
    assert NEW in (folder / "own.jinja").read_text("utf-8")
    assert autoparser("fix", folder / "linked.jinja", "--select", "AP109", "--write").code == 0
    assert NEW in (tmp_path / "theirs.jinja").read_text("utf-8")
