"""The command lint: what it writes, exit codes, wrong uses, settings, profiles, its cache."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
import yaml

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import InspectionTask, SeenHits, inspect_template
from autoparser.analysis.lint.project_settings import KEYS
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Profile
from autoparser.cli.lint import FindingForm
from autoparser.cli.main import app
from tests.cli.conftest import ROOT, Run

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

SNAPSHOTS = Path(__file__).parent / "snapshots"
FILES = {
    "DROPS": "fixtures/lint/AP306/fires.jinja",
    "BROKEN": "fixtures/lint/AP101/fires.jinja",
    "QUIET": "fixtures/lint/AP306/quiet.jinja",
    "TEXT": "fixtures/README.md",
    "STRIPS": "fixtures/lint/AP301/fires.jinja",
}
DROPS, BROKEN, QUIET, TEXT, STRIPS = FILES.values()
SELECT = ("--select", "AP101,AP306")
TWO = ("--isolated", *SELECT)
"""Two rules alone, so that a new one changes nothing here."""

REPORTS = {
    "lint": (DROPS, BROKEN, QUIET, TEXT),
    "lint-explained": (DROPS, QUIET, "--explain"),
    "lint-evidence": ("fixtures/templates/content-dropped-beside-calls.jinja", "--show-evidence"),
    "lint-statistics": (DROPS, BROKEN, QUIET, "--statistics"),
    "lint-clean": (QUIET,),
}
CODES = {"lint": 2, "lint-clean": 0}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("title", REPORTS)
def test_a_report_is_as_in_its_snapshot(
    title: str, width: int, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = autoparser("lint", *TWO, *REPORTS[title])
    assert (ran.code, ran.err) == (CODES.get(title, 1), "")
    compare(ran.out, f"{title}-{width}")
    assert all(len(line) <= width and line == line.rstrip() for line in ran.out.splitlines())


def compare(out: str, title: str) -> None:
    path = SNAPSHOTS / f"{title}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(out, encoding="utf-8", newline="\n")
    assert out == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["concise", "github", "markdown", "junit"])
def test_a_form_is_as_in_its_snapshot(form: str, autoparser: Run) -> None:
    ran = autoparser("lint", *TWO, *REPORTS["lint"], "--format", form)
    assert (ran.code, ran.err) == (2, "")
    compare(ran.out, f"lint-{form}")


def read_table(name: str) -> Any:
    return yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))


USES = read_table("lint_uses.yaml")


def rows(kind: str) -> Iterator[ParameterSet]:
    for row in USES[kind]:
        yield pytest.param(row, id=row["use"], marks=pytest.mark.slow if row.get("slow") else ())


def arguments_of(use: str) -> list[str]:
    return [FILES.get(each, each) for each in use.split()]


@pytest.mark.parametrize("row", [*rows("codes")])
def test_the_exit_code_tells_findings_from_problems(row: dict[str, Any], autoparser: Run) -> None:
    assert autoparser("lint", *TWO, *arguments_of(row["use"])).code == row["code"]


@pytest.mark.parametrize("row", [*rows("wrong")])
def test_a_wrong_use_is_one_line(row: dict[str, str], autoparser: Run) -> None:
    ran = autoparser("lint", *arguments_of(row["use"]))
    assert (ran.code, ran.out) == (2, "")
    assert row["words"] in ran.err
    assert ran.err.count("\n") == 1


@pytest.fixture
def project(tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one template that drops content, in which the command runs."""
    del autoparser
    shutil.copy(ROOT / DROPS, tmp_path / "chat.jinja")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_of(words: str) -> str:
    for name, path in FILES.items():
        words = words.replace(f"{{{name}}}", (ROOT / path).read_text("utf-8"))
    return words


@pytest.mark.parametrize("case", read_table("lint_projects.yaml"), ids=lambda case: case["why"])
def test_a_project_is_linted_step_by_step(
    case: dict[str, Any], tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for step in case["steps"]:
        for name, words in step.get("files", {}).items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text_of(words), encoding="utf-8")
        ran = autoparser("lint", *step["use"].split(), "--format", "concise")
        assert ran.code == step["code"], ran
        assert [each for each in step.get("out", ()) if each not in ran.out + ran.err] == [], ran
        assert [each for each in step.get("not", ()) if each in ran.out + ran.err] == [], ran


def test_several_reports_come_of_one_run(project: Path, autoparser: Run) -> None:
    reports = ("--report", "sarif=a.sarif", "--report", "json=a.json", "-o", "a.txt")
    ran = autoparser("lint", ".", *SELECT, "--format", "github", *reports)
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert (project / "a.txt").read_text("utf-8").startswith("::error file=chat.jinja,line=")
    log = json.loads((project / "a.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["AP306"]
    assert json.loads((project / "a.json").read_text("utf-8"))["failed"] is True


def test_json_has_the_places_that_lines_begin_with(project: Path, autoparser: Run) -> None:
    source = "{% for m in messages %}\n    {{- m.role ~ ':' ~ m.content|trim }}\n{% endfor %}\n"
    (project / "trims.jinja").write_text(source, encoding="utf-8")
    document = json.loads(autoparser("lint", "trims.jinja", "--format", "json").out)
    findings = document["templates"][0]["findings"]
    placed = [each for each in findings if each["line"] is not None]
    assert {(each["line_in_file"], each["column_in_file"]) for each in placed} == {(2, 5)}
    shown = [
        text
        for each in findings
        for pair in each["evidence"]
        for text in (pair["one"], pair["other"] or pair["one"])
        if text["origins"]
    ]
    assert shown
    for text in shown:
        places = [each["at"] for each in text["origins"]]
        assert places == sorted(places)
        assert places[-1] < len(text["text"])
        assert {each["line"] for each in text["origins"]} <= {1, 2, 3}


@pytest.mark.slow
def test_a_bar_is_shown_where_someone_watches_and_nowhere_else(project: Path, process: Run) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    for at in range(10):
        (project / f"{at}.jinja").write_text(f"{{{{ messages[{at}] }}}}", "utf-8")
    use = ("lint", str(project), "--select", "AP101", "-j", "2")
    ran = process(*use)
    assert (ran.code, ran.out, ran.err) == (0, "11 templates, no finding.\n", "")
    mine, theirs = pty.openpty()
    out = project / "out.txt"
    with (
        out.open("wb") as file,
        subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
            [sys.executable, "-m", "autoparser", *use],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)},
            stdout=file,
            stderr=theirs,
        ) as running,
    ):
        os.close(theirs)
        shown = b"".join(read_all(mine))
    assert (running.returncode, out.read_text("utf-8")) == (ran.code, ran.out)
    assert b"linting" in shown
    assert shown.endswith(b"\x1b[2K"), "it wipes itself away"


def read_all(terminal: int) -> Iterator[bytes]:
    """Read what is shown until nobody is left to show anything."""
    with suppress(OSError):
        while piece := os.read(terminal, 4096):
            yield piece
    os.close(terminal)


def test_a_template_comes_from_standard_input(autoparser: Run) -> None:
    text = (ROOT / DROPS).read_bytes()
    ran = autoparser("lint", "-", *TWO, "--format", "concise", stdin=text)
    assert ran.code == 1
    assert ran.out.startswith("standard input:6:13: AP306 [error]")


@pytest.mark.slow
def test_other_programs_are_asked(autoparser: Run) -> None:
    ran = autoparser("lint", "fixtures/lint/AP810/fires.jinja", "--engines", "--select", "AP810")
    assert ran.code == 1
    assert "minijinja fails at" in ran.out
    assert "on 8 of 8 conversations" in ran.out


NAMES_ALONE = "fixtures/lint/AP534/fires.jinja"
OF_TOOLS = ("--isolated", "--select", "AP534", "--format", "json")


def test_tools_of_a_file_are_asked_with_instead_of_the_rules_own(
    autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")

    def messages(*more: str, template: str = NAMES_ALONE) -> list[str]:
        ran = autoparser("lint", template, *OF_TOOLS, "--cache-dir", str(tmp_path), *more)
        (found,) = json.loads(ran.out)["templates"]
        return [each["message"] for each in found["findings"]]

    own = messages()
    crash, lost = messages("--tools", "fixtures/mcp-tools.json")
    assert "1 of 2 tools with an object without properties, such as opening_hours" in crash
    assert "tool description (in 2), type (in 1)" in lost
    one = tmp_path / "one.json"
    one.write_text('[{"name": "look", "parameters": {"properties": {"a": {"default": 1}}}}]')
    assert messages("--tools", str(one)) == ["of these tools the model is not told default (in 1)"]
    assert messages() == own, "what was cached of other tools is not the answer"
    quiet = NAMES_ALONE.replace("fires", "quiet")
    assert messages("--tools", "fixtures/mcp-tools.json", template=quiet) == []


# Profiles: what is shown to whom, and what is folded.

# STRIPS strips what the assistant said, as many templates do: a warning of a convention.


def shown(autoparser: Run, *options: str) -> tuple[set[str], set[str]]:
    """Return the codes that are shown, and those that are folded."""
    ran = autoparser("lint", STRIPS, "--isolated", *options, "--format", "json", "--exit-zero")
    assert (ran.code, ran.err) == (0, "")
    (template,) = json.loads(ran.out)["templates"]
    return {each["code"] for each in template["findings"]}, set(template["folded"])


def test_a_profile_folds_and_drops_nothing(autoparser: Run) -> None:
    seen = {each: shown(autoparser, "--profile", each.value) for each in Profile}
    everything, nothing = seen[Profile.STRICT]
    assert nothing == set()
    for found, folded in seen.values():
        assert not found & folded
        assert found | folded == everything
    usual, folded = shown(autoparser)
    assert (usual, folded) == seen[Profile.RELEASE]
    assert not any(rule.convention for rule in all_rules() if rule.code in usual)
    showing = {each for each, (found, _) in seen.items() if "AP301" in found}
    assert showing == {Profile.STRICT, Profile.TRAINING, Profile.CACHE}
    ran = autoparser("lint", STRIPS, "--isolated", "--format", "concise", "--fail-on", "info")
    assert ran.code == bool(usual), "what is folded does not fail"
    (line,) = (each for each in ran.out.splitlines() if "not shown in the profile release" in each)
    assert line.startswith(f"{len(folded)} findings not shown")
    assert line.endswith("; --profile strict shows them")


def test_a_selected_rule_is_shown_unless_a_profile_or_a_severity_is_named_too(
    autoparser: Run,
) -> None:
    one = ("--select", "AP301")
    assert shown(autoparser, *one) == ({"AP301"}, set())
    assert "AP301" in shown(autoparser, "--extend-select", "AP301")[0]
    assert shown(autoparser, *one, "--profile", "release") == (set(), {"AP301"})
    assert shown(autoparser, *one, "--min-severity", "error") == (set(), {"AP301"})
    found, folded = shown(autoparser, "--profile", "strict", "--min-severity", "warning")
    assert "AP301" in found
    assert folded
    assert folded <= {rule.code for rule in all_rules() if rule.severity is Severity.INFO}


@pytest.mark.slow
def test_settings_name_a_profile_and_an_option_goes_before_it(
    project: Path, autoparser: Run
) -> None:
    file = project / "autoparser.toml"
    file.write_text('[lint]\nprofile = "cache"\nmin-severity = "warning"\n', "utf-8")
    shutil.copy(ROOT / STRIPS, project / "chat.jinja")

    def out(*options: str) -> str:
        return autoparser("lint", "chat.jinja", *options, "--format", "json", "--exit-zero").out

    assert out() == out("--isolated", "--profile", "cache", "--min-severity", "warning")
    strict = ("--profile", "strict", "--min-severity", "info")
    assert out(*strict) == out("--isolated", *strict) != out()
    known = ("--isolated", "--baseline", "known.json")
    autoparser("lint", "chat.jinja", *known, "--profile", "strict", "--write-baseline")
    assert json.loads(out(*known))["baseline"] == {"vanished": 0}, "what is folded is still there"


# The cache: the same bytes, and no template looked at again.


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts of the templates that were looked at, with the cache in use."""
    texts: list[str] = []

    def counting(task: InspectionTask) -> SeenHits:
        texts.append(task.template.text)
        return inspect_template(task)

    monkeypatch.delenv("AUTOPARSER_NO_CACHE")
    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", counting)
    return texts


SOME = [
    *sorted((ROOT / "fixtures" / "templates").glob("*.jinja"))[::17],
    *sorted((ROOT / "fixtures" / "lint").glob("*/fires.jinja"))[::17],
]


@pytest.mark.parametrize(
    "sources", [[DROPS, BROKEN, QUIET, TEXT], pytest.param(SOME, marks=pytest.mark.slow)], ids=len
)
def test_a_cached_answer_is_the_same_in_every_form(
    sources: list[str], autoparser: Run, looked: list[str], tmp_path: Path
) -> None:
    forms = {form.value: tmp_path / form.value for form in FindingForm}
    use = ("lint", *sources, "--isolated", "--profile", "strict", "--show-evidence", "--explain")
    reports = [f"--report={form}={file}" for form, file in forms.items()]

    def every_form(cache: str) -> list[object]:
        return [autoparser(*use, *reports, cache), *(each.read_bytes() for each in forms.values())]

    fresh, cached = every_form("--no-cache"), f"--cache-dir={tmp_path / 'cache'}"
    every_form(cached)
    looked.clear()
    assert every_form(cached) == fresh
    assert looked == []


def test_the_cache_has_a_place_that_can_be_named_or_done_without(
    autoparser: Run, looked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = tmp_path / "one.jinja"
    template.write_text("{{ messages[0].content }}", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))

    def times(*more: str | Path, select: str = "AP101") -> int:
        looked.clear()
        autoparser("lint", template, "--isolated", "--select", select, *more)
        return len(looked)

    assert [times("--no-cache"), times("--no-cache")] == [1, 1]
    assert not (tmp_path / "home").exists()
    assert [times(), times()] == [1, 0]
    assert (tmp_path / "home" / "autoparser" / "lint").is_dir()
    assert [times("--cache-dir", tmp_path / "own" / "one"), times()] == [1, 0]
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "other"))
    assert [times(), times(), times("--cache-dir", tmp_path / "own" / "one")] == [1, 0, 0]
    # Other rules look anew; what is shown of it decides nothing.
    shows = ((), ("--profile", "release"), ("--statistics",), ("--fail-on", "info"))
    assert [times(*each, select="AP101,AP102") for each in shows] == [1, 0, 0, 0]
    monkeypatch.setenv("AUTOPARSER_NO_CACHE", "1")
    assert times() == 1
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")
    ran = autoparser("lint", template, "--cache-dir", template)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{template}: this cannot be the folder of the cache")
    assert ran.err.endswith("name another one with --cache-dir, or give --no-cache\n")


def test_watching_looks_only_at_changes_in_what_it_found(
    project: Path, autoparser: Run, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(project / "cache"))
    (project / "models" / "a").mkdir(parents=True)
    shutil.copy(ROOT / QUIET, project / "models" / "a" / "chat.jinja")
    watched: list[list[Path | None]] = []

    def twice(source: str, action: Callable[[], int], beside: list[Path | None]) -> int:
        watched.append([each for each in beside if each is not None])
        assert (source, action()) == ("models, chat.jinja", 1)
        (project / "chat.jinja").write_text((ROOT / QUIET).read_text("utf-8") + "\n", "utf-8")
        return action()

    monkeypatch.setattr("autoparser.cli.lint.watch_files", twice)
    ran = autoparser("lint", "models", "chat.jinja", *SELECT, "--format", "concise", "--watch")
    assert (ran.code, len(looked)) == (0, 3)
    assert ran.out.endswith("2 templates, 1 finding: 1 error\n2 templates, no finding\n")
    assert watched == [[Path("models"), Path("chat.jinja"), Path("models/a")]]


def test_the_docs_list_every_option_key_convention_and_format() -> None:
    docs = (ROOT / "docs" / "lint.md").read_text("utf-8")
    command = typer.main.get_command(app)
    parameters = command.commands["lint"].params  # type: ignore[attr-defined]
    options = {each for it in parameters for each in it.opts if each.startswith("--")}
    assert options - {"--help"} == set(re.findall(r"`(--[a-z-]+)[ `]", docs)) - {"--help"}
    (table,) = re.findall(r"```toml\n([\s\S]+?)```", docs)
    assert set(tomllib.loads(table)["tool"]["autoparser"]["lint"]) == set(KEYS)
    (conventions,) = re.findall(r"Of conventions are ([^.]+)\.", docs)
    listed = [rule.code for rule in all_rules() if rule.convention]
    assert re.findall(r"AP\d+", conventions) == listed
    assert {f"`{form}`" for form in FindingForm} <= set(re.findall(r"`[a-z]+`", docs))


def test_what_jinja_cannot_read_has_its_column_and_quiet_leaves_the_rest_out(
    tmp_path: Path, autoparser: Run
) -> None:
    file = tmp_path / "bad.jinja"
    file.write_text("  {{ 1 2 }}", "utf-8")
    ran = autoparser("lint", str(file), "--isolated", "-q")
    assert ran.code == 1
    *_, excerpt, caret, fix = ran.out.splitlines()
    assert excerpt[caret.index("^")] == "2"
    assert fix.lstrip().startswith("fix: ")
    ran = autoparser("lint", str(file), "--isolated", "-q", "--format", "concise")
    assert ran.out.startswith(f"{file}:1:8: AP101 [error]")
    assert ran.out.count("\n") == 1
    ran = autoparser("lint", str(file), "--isolated", "--format", "sarif")
    (result,) = json.loads(ran.out)["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 8}
