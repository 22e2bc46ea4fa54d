"""The command fix: the diff, the files, the exit codes, the JSON."""

from __future__ import annotations

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from autoparser.analysis.core.errors import Limit, TemplateLimitError
from tests.analysis.sources.gguf_files import write_model
from tests.cli.conftest import ROOT, Run

LINT = ROOT / "fixtures" / "lint"
TEXT = (LINT / "AP109" / "fires.jinja").read_text("utf-8")
OLD, NEW = "message.content }}", "message.content or '' }}"
DROPS = LINT / "AP401" / "fires.jinja"
SELECT = ("--select", "AP109")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jinja"
    path.write_text(TEXT, encoding="utf-8")
    return path


def words_of(text: str) -> str:
    return " ".join(text.split())


def test_a_diff_is_shown_then_the_file_is_written_then_nothing_is_left_to_fix(
    autoparser: Run, template: Path
) -> None:
    ran = autoparser("fix", template, *SELECT)
    assert ran.code == 1
    assert f"-    {{{{- {OLD}\n+    {{{{- {NEW}\n" in ran.out
    assert f"--- a{template}\n+++ b{template}\n" in ran.out
    assert "fixed AP109" in ran.err
    assert "--write changes the files" in ran.err
    assert template.read_text("utf-8") == TEXT
    ran = autoparser("fix", template, *SELECT, "--write")
    assert (ran.code, ran.out) == (0, "")
    assert template.read_text("utf-8") == TEXT.replace(OLD, NEW)
    again = autoparser("fix", template, *SELECT, "--write", "--diff")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to fix in 1 template." in again.err


@pytest.mark.slow
def test_lint_fixes_first(autoparser: Run, template: Path) -> None:
    ran = autoparser("lint", template, *SELECT, "--fix", "--fail-on", "warning")
    assert ran.code == 0
    assert template.read_text("utf-8") == TEXT.replace(OLD, NEW)


@pytest.mark.slow
def test_json_has_the_proof(autoparser: Run, template: Path) -> None:
    ran = autoparser("fix", template, *SELECT, "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "fix.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    (shown,) = document["templates"]
    (finding,) = shown["findings"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert shown["text"] == TEXT.replace(OLD, NEW)
    assert 0 < finding["proof"]["changed"] < finding["proof"]["conversations"]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["tokenizer_config.json", "m.gguf", "-"])
def test_a_source_that_is_not_a_template_alone_is_shown_and_not_written(
    source: str, autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / source
    if source == "m.gguf":
        write_model(path, TEXT)
    elif source != "-":
        path.write_text(json.dumps({"chat_template": TEXT}), encoding="utf-8")
    before = [(each, each.read_bytes()) for each in tmp_path.iterdir()]
    for more in ((), ("--write",)):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(TEXT.encode())))
        ran = autoparser("fix", source, *SELECT, *more)
        assert (ran.code, f"+    {{{{- {NEW}\n" in ran.out) == (2 if more else 1, not more)
        assert ("--write changes files that hold a template alone" in ran.err) is bool(more)
    assert [(each, each.read_bytes()) for each in tmp_path.iterdir()] == before


@pytest.mark.slow
def test_the_template_of_a_saved_format_is_fixed_where_it_is(
    autoparser: Run, template: Path
) -> None:
    saved = template.with_name("saved.json")
    autoparser("analyze", template, "--format", "file", "-o", saved)
    elsewhere = template.rename(template.with_name("elsewhere.jinja"))
    refused = autoparser("fix", saved, *SELECT)
    assert refused.code == 2
    assert "--template PATH" in refused.err
    assert autoparser("fix", saved, *SELECT, "--template", elsewhere, "--write").code == 0
    assert elsewhere.read_text("utf-8") == TEXT.replace(OLD, NEW)
    without = autoparser("fix", elsewhere, *SELECT, "--template", elsewhere)
    assert without.code == 2
    assert "--template says where the template of a saved format is" in without.err


def test_a_file_that_cannot_be_read_is_a_problem(autoparser: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jinja"
    broken.write_bytes(b"{{ messages }}\xff")
    ran = autoparser("fix", broken)
    assert (ran.code, ran.out) == (2, "")
    # A long path is broken into lines as all text is.
    assert str(broken) in ran.err.replace("\n", "")
    assert "Not finished: 1 problem, see above." in ran.err
    assert "Nothing to fix" not in ran.err


def test_a_finding_without_a_fix_is_listed_with_its_reason(autoparser: Run) -> None:
    ran = autoparser("fix", LINT / "AP507" / "fires.jinja", "--select", "AP507")
    assert (ran.code, ran.out) == (1, "")
    words = words_of(ran.err)
    assert "stays AP507" in words
    assert "no edits are known for this rule: prompts would get another notation" in words


def test_an_edit_that_changes_what_no_finding_calls_wrong_is_made_only_on_request(
    autoparser: Run,
) -> None:
    # Models are trained on templates that drop the reasoning of earlier turns: a convention.
    ran = autoparser("fix", DROPS)
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing to fix in 1 template." in ran.err
    ran = autoparser("fix", DROPS, "--select", "AP401")
    assert (ran.code, ran.out) == (1, "")
    words = words_of(ran.err)
    assert "stays AP401 reasoning-dropped-from-earlier-turns (an unsafe fix is there)" in words
    assert "1 hidden fix can be enabled with --unsafe-fixes." in words
    assert "reasoning is left out of an earlier turn" in words


@pytest.mark.slow
def test_json_tells_what_an_unsafe_edit_changes_beyond_the_request(autoparser: Run) -> None:
    ran = autoparser("fix", DROPS, "--select", "AP401", "--unsafe-fixes", "--json")
    (finding,) = json.loads(ran.out)["templates"][0]["findings"]
    assert (finding["fixed"], finding["safe"]) == (True, False)
    proof = finding["proof"]
    assert proof["beyond"] == proof["changed"] > 0
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(each["before"] != each["after"] for each in proof["examples"])
    assert not any(each["asked_for"] for each in proof["examples"])


def test_a_finding_that_lint_leaves_out_is_not_fixed(autoparser: Run, template: Path) -> None:
    known = ("--baseline", str(template.with_name("known.json")))
    autoparser("lint", template, *SELECT, *known, "--write-baseline")
    for more in ((*SELECT, "--min-severity", "error"), (*SELECT, *known)):
        ran = autoparser("fix", template, *more)
        assert (ran.code, ran.out) == (0, "")
    accepted = "{#- autoparser: ignore AP109 the clients send text -#}\n"
    template.write_text(accepted + TEXT, encoding="utf-8")
    assert autoparser("fix", template, *SELECT).code == 0


def test_a_limit_that_ends_the_search_is_named(
    autoparser: Run, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise TemplateLimitError(Limit.TASK_TIME, "this took more than 60 s")

    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", template, *SELECT)
    assert (ran.code, ran.out) == (2, "")
    words = words_of(ran.err)
    assert "not finished: " in words
    assert "this took more than 60 s" in words
    assert "stays AP109" in words
    assert "a limit ended the search before it was finished" in words


@pytest.mark.slow
def test_a_link_out_of_the_folder_is_not_followed(autoparser: Run, tmp_path: Path) -> None:
    folder, theirs = tmp_path / "mine", tmp_path / "theirs.jinja"
    folder.mkdir()
    theirs.write_text(TEXT, encoding="utf-8")
    (folder / "linked.jinja").symlink_to(theirs)
    (folder / "own.jinja").write_text(f"{TEXT}\n", encoding="utf-8")
    ran = autoparser("fix", folder, *SELECT, "--write")
    assert ran.code == 2
    words = words_of(ran.err)
    assert "a link leads out of the folder that was named" in words
    assert "2 of 2 findings fixed: 1 template changed, 1 not written." in words
    assert theirs.read_text("utf-8") == TEXT
    assert NEW in (folder / "own.jinja").read_text("utf-8")
    assert autoparser("fix", folder / "linked.jinja", *SELECT, "--write").code == 0
    assert NEW in theirs.read_text("utf-8")
