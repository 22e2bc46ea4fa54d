"""The command fix: the diff, the files, the exit codes, the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from autoparser.analysis.core.errors import Limit, TemplateLimitError
from tests.analysis.sources.gguf_files import write_model
from tests.cli.conftest import ROOT, Run

LINT = ROOT / "fixtures" / "lint"
TEXT, DROPS, UNFIXABLE = (
    (LINT / code / "fires.jinja").read_text("utf-8") for code in ("AP109", "AP401", "AP507")
)
TEXTS = {
    "{TEXT}": TEXT,
    "{FIXED}": TEXT.replace("message.content }}", "message.content or '' }}"),
    "{DROPS}": DROPS,
    "{UNFIXABLE}": UNFIXABLE,
    "{CONFIG}": json.dumps({"chat_template": TEXT}),
}
CASES = yaml.safe_load((Path(__file__).parent / "fix_projects.yaml").read_text(encoding="utf-8"))


def filled(words: str) -> str:
    for name, text in TEXTS.items():
        words = words.replace(name, text)
    return words


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["why"], marks=pytest.mark.slow if case.get("slow") else ())
        for case in CASES
    ],
)
def test_a_project_is_fixed_step_by_step(
    case: dict[str, Any], tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for step in case["steps"]:
        for name, words in step.get("files", {}).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            if words is not None:
                path.write_text(filled(words), encoding="utf-8")
        if "link" in step:
            link, target = step["link"]
            (tmp_path / link).symlink_to(tmp_path / target)
        ran = autoparser(*step["use"].split(), stdin=filled(step.get("stdin", "")).encode())
        assert ran.code == step["code"], ran
        assert ran.out == "" or step.get("out") != [], ran
        for stream, wanted in ((ran.out, "out"), (ran.err, "err")):
            assert [it for it in step.get(wanted, ()) if it not in in_one_line(stream)] == [], ran
        for name, words in step.get("then", {}).items():
            assert (tmp_path / name).read_text("utf-8") == filled(words), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code", "more"), [(TEXT, "AP109", ()), (DROPS, "AP401", ("--unsafe-fixes",))]
)
def test_json_has_the_proof_of_a_fix(
    text: str, code: str, more: tuple[str, ...], autoparser: Run, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text(text, encoding="utf-8")
    ran = autoparser("fix", path, "--select", code, "--json", *more)
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "fix.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    (shown,) = document["templates"]
    (finding,) = shown["findings"]
    proof = finding["proof"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert 0 < proof["changed"] < proof["conversations"]
    assert finding["safe"] is not bool(more)
    assert proof["beyond"] == (proof["changed"] if more else 0)
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(each["before"] != each["after"] for each in proof["examples"])
    assert {each["asked_for"] for each in proof["examples"]} == {not more}


@pytest.mark.slow
def test_a_gguf_file_is_shown_and_not_written(autoparser: Run, tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", TEXT)
    before = path.read_bytes()
    ran = autoparser("fix", path, "--select", "AP109")
    assert (ran.code, "+    {{- message.content or '' }}\n" in ran.out) == (1, True)
    assert autoparser("fix", path, "--select", "AP109", "--write").code == 2
    assert path.read_bytes() == before


def test_a_limit_that_ends_the_search_is_named(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise TemplateLimitError(Limit.TASK_TIME, "this took more than 60 s")

    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", LINT / "AP109" / "fires.jinja", "--select", "AP109")
    assert (ran.code, ran.out) == (2, "")
    words = in_one_line(ran.err)
    for each in ("not finished: ", "this took more than 60 s", "stays AP109", "a limit ended the"):
        assert each in words
