"""The command lint: what it takes, what it writes, its exit codes, and wrong uses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
SNAPSHOTS = Path(__file__).parent / "snapshots"
BROKEN, DROPS = "fixtures/lint/AP101/fires.jinja", "fixtures/lint/AP306/fires.jinja"
QUIET = "fixtures/lint/AP306/quiet.jinja"
NO_TEMPLATE = "fixtures/README.md"
TWO = ("--isolated", "--select", "AP101,AP306")
"""Two rules alone, so that a new one changes nothing here."""

REPORTS = {
    "lint": (DROPS, BROKEN, QUIET, NO_TEMPLATE),
    "lint-explained": (DROPS, QUIET, "--explain"),
    "lint-evidence": ("fixtures/templates/content-dropped-beside-calls.jinja", "--show-evidence"),
    "lint-statistics": (DROPS, BROKEN, QUIET, "--statistics"),
    "lint-clean": (QUIET,),
}
CODES = {"lint": 2, "lint-clean": 0}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("title", REPORTS)
def test_a_report_is_as_it_was(
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


FORMS = ("concise", "github", "markdown", "junit")


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_as_it_was(form: str, autoparser: Run) -> None:
    ran = autoparser("lint", *TWO, *REPORTS["lint"], "--format", form)
    assert (ran.code, ran.err) == (2, "")
    compare(ran.out, f"lint-{form}")


EXITS = [
    ((QUIET,), 0),
    ((DROPS,), 1),
    ((DROPS, QUIET), 1),
    ((DROPS, "--exit-zero"), 0),
    ((DROPS, "--fail-on", "never"), 0),
    ((DROPS, "--fail-on", "info"), 1),
    ((DROPS, "--ignore", "AP306"), 0),
    ((DROPS, "--extend-select", "ALL", "--ignore", "AP3,does-not-compile"), 1),
    ((DROPS, NO_TEMPLATE), 2),
    ((DROPS, NO_TEMPLATE, "--exit-zero"), 2),
    ((QUIET, "nowhere.jinja"), 2),
    ((BROKEN,), 1),
]


@pytest.mark.parametrize(("arguments", "code"), EXITS)
def test_the_exit_code(arguments: tuple[str, ...], code: int, autoparser: Run) -> None:
    assert autoparser("lint", *TWO, *arguments).code == code


WRONG = [
    ((), "Missing argument"),
    ((DROPS, "--select", "AP3066"), "there is no rule 'AP3066'; did you mean AP306?"),
    ((DROPS, "--ignore", "does-not-compil"), "did you mean does-not-compile?"),
    ((DROPS, "--extend-select", "AP9999"), "there is no rule 'AP9999'"),
    ((DROPS, "--select", "AP101", "--ignore", "AP101"), "no rule is left"),
    ((DROPS, "--fail-on", "errors"), "--fail-on cannot be 'errors'; did you mean error?"),
    ((DROPS, "--min-confidence", "sure"), "there are high, medium, low"),
    ((DROPS, "--format", "xml"), "xml"),
    ((DROPS, "--config", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ((DROPS, "--config", "pyproject.toml", "--isolated"), "contradict each other"),
    ((DROPS, "--baseline", "nowhere.json"), "nowhere.json: there is no such file"),
    ((DROPS, "--write-baseline"), "add --baseline FILE"),
    ((DROPS, "--tokenizer", "nowhere"), "nowhere: there is no"),
    ((DROPS, "--report", "sarif"), "give --report FORMAT=FILE"),
    ((DROPS, "--report", "sarf=x"), "there is no format 'sarf'; did you mean sarif?"),
    ((DROPS, "--report", "sarif=x", "--report", "json=x"), "x: two reports go to this file"),
    ((DROPS, "--statistics", "--format", "sarif"), "--statistics is not of sarif"),
    ((DROPS, "--explain", "--format", "json"), "--explain and --show-evidence are of text"),
    ((DROPS, "--explain", "--statistics"), "leave out one of the two"),
    ((DROPS, "--profile", "relaese"), "--profile cannot be 'relaese'; did you mean release?"),
    ((DROPS, "--min-severity", "low"), "--min-severity cannot be 'low'; there are error"),
    (("-", "--watch"), "standard input cannot be watched"),
    ((DROPS, "--baseline", "x", "--write-baseline", "--watch"), "leave out --watch"),
    ((DROPS, "--output", "no/such/folder/x"), "no/such/folder/x: cannot be written"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_a_wrong_use_is_one_line(arguments: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("lint", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


@pytest.fixture
def project(tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one template that drops content, in which the command runs."""
    del autoparser
    shutil.copy(ROOT / DROPS, tmp_path / "chat.jinja")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


SELECT = ("--select", "AP101,AP306")


@pytest.mark.usefixtures("project")
def test_an_empty_directory_is_no_pass(autoparser: Run) -> None:
    ran = autoparser("lint", "empty", "--format", "concise")
    assert ran.code == 2
    assert "empty:1:1: [problem] there is no template below this directory" in ran.out


def test_an_ignore_without_a_reason_is_told_with_its_line(project: Path, autoparser: Run) -> None:
    text = (project / "chat.jinja").read_text("utf-8")
    (project / "chat.jinja").write_text(f"{{#- autoparser: ignore AP306 -#}}\n{text}", "utf-8")
    ran = autoparser("lint", ".", *SELECT, "--format", "concise")
    assert ran.code == 2
    assert "chat.jinja:1:1: [problem] this ignore of AP306 gives no reason; say why" in ran.out
    assert "AP306 [error]" in ran.out


def test_settings_are_found_and_can_be_passed_by(project: Path, autoparser: Run) -> None:
    (project / "autoparser.toml").write_text('[lint]\nselect = ["AP101"]\n', "utf-8")
    assert autoparser("lint", ".").code == 0
    assert autoparser("lint", ".", "--isolated", *SELECT).code == 1
    assert autoparser("lint", ".", "--select", "AP306").code == 1, "an option goes before a key"
    other = project / "other.toml"
    other.write_text('[lint]\nselect = ["AP306"]\nfail-on = "never"\n', "utf-8")
    assert autoparser("lint", ".", "--config", other).code == 0
    assert autoparser("lint", ".", "--config", other, "--fail-on", "error").code == 1


def test_wrong_settings_are_one_line(project: Path, autoparser: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.autoparser.lint]\nselct = ["AP101"]\n', "utf-8")
    ran = autoparser("lint", ".")
    assert (ran.code, ran.out) == (2, "")
    file = project / "pyproject.toml"
    assert ran.err == (
        f"{file}: tool.autoparser.lint.selct: there is no key 'selct'; did you mean select?"
        " there are select, ignore, extend-select, per-file-ignores, fail-on, profile,"
        " min-severity, exclude, tokenizer\n"
    )


def test_a_baseline_is_written_and_read(project: Path, autoparser: Run) -> None:
    base = ("--baseline", "baseline.json")
    ran = autoparser("lint", ".", *SELECT, *base, "--write-baseline")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "baseline.json: 1 finding of 1 template\n"
    ran = autoparser("lint", ".", *SELECT, *base, "--format", "concise")
    assert ran.code == 0
    assert ran.out == "1 template, no finding; 1 in the baseline\n"
    shutil.copy(ROOT / QUIET, project / "chat.jinja")
    ran = autoparser("lint", ".", *SELECT, *base, "--format", "concise")
    assert ran.code == 0
    assert ran.out.startswith(
        "1 entry of the baseline matches nothing any more: --write-baseline removes it\n"
    )
    text = (project / "baseline.json").read_text("utf-8")
    (project / "baseline.json").write_text(text.replace("baseline/1", "baseline/2"), "utf-8")
    ran = autoparser("lint", ".", *SELECT, *base)
    assert (ran.code, ran.out) == (2, "")
    assert "this is a baseline of another version" in ran.err


def test_it_watches_what_it_found(
    project: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "models" / "a").mkdir(parents=True)
    shutil.copy(ROOT / QUIET, project / "models" / "a" / "chat.jinja")
    told: list[list[Path]] = []

    def twice(source: str, action: Callable[[], int], beside: list[Path | None]) -> int:
        told.append([each for each in beside if each is not None])
        assert (source, action()) == ("models, chat.jinja", 1)
        shutil.copy(ROOT / QUIET, project / "chat.jinja")
        return action()

    monkeypatch.setattr("autoparser.cli.lint.watch_files", twice)
    ran = autoparser("lint", "models", "chat.jinja", *SELECT, "--format", "concise", "--watch")
    assert ran.code == 0
    assert ran.out.endswith("2 templates, 1 finding: 1 error\n2 templates, no finding\n")
    assert told == [[Path("models"), Path("chat.jinja"), Path("models/a")]]


def test_several_reports_come_of_one_run(project: Path, autoparser: Run) -> None:
    ran = autoparser(
        "lint",
        ".",
        *SELECT,
        "--format",
        "github",
        "--report",
        "sarif=a.sarif",
        "--report",
        "json=a.json",
        "-o",
        "a.txt",
    )
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    assert (project / "a.txt").read_text("utf-8").startswith("::error file=chat.jinja,line=")
    log = json.loads((project / "a.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["AP306"]
    document = json.loads((project / "a.json").read_text("utf-8"))
    assert document["failed"] is True


def test_json_has_the_places_that_lines_begin_with(project: Path, autoparser: Run) -> None:
    source = "{% for m in messages %}\n    {{- m.role ~ ':' ~ m.content|trim }}\n{% endfor %}\n"
    (project / "trims.jinja").write_text(source, encoding="utf-8")
    document = json.loads(autoparser("lint", "trims.jinja", "--format", "json").out)
    (template,) = document["templates"]
    told = autoparser("lint", "trims.jinja", "--format", "concise").out
    placed = [each for each in template["findings"] if each["line"] is not None]
    assert {(each["line_in_file"], each["column_in_file"]) for each in placed} == {(2, 5)}
    for each in placed:
        assert f"trims.jinja:2:5: {each['code']} " in told
    origins = [
        (shown["text"], shown["origins"])
        for each in template["findings"]
        for pair in each["evidence"]
        for shown in (pair["one"], pair["other"] or pair["one"])
        if shown["origins"]
    ]
    assert origins
    for text, begins in origins:
        places = [each["at"] for each in begins]
        assert places == sorted(places)
        assert places[-1] < len(text)
        assert {each["line"] for each in begins} <= {1, 2, 3}


def test_no_bar_where_no_one_watches(project: Path, process: Run) -> None:
    for at in range(10):
        text = (project / "chat.jinja").read_text("utf-8")
        (project / f"{at}.jinja").write_text(f"{{# {at} #}}{text}", "utf-8")
    ran = process("lint", project, *SELECT, "--statistics", "--jobs", "2")
    assert (ran.code, ran.err) == (1, "")
    assert "11 templates, 11 findings: 11 errors." in ran.out


def test_a_bar_where_someone_watches(project: Path) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    for at in range(10):
        (project / f"{at}.jinja").write_text(f"{{{{ messages[{at}] }}}}", "utf-8")
    mine, theirs = pty.openpty()
    out = project / "out.txt"
    with (
        out.open("wb") as file,
        subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
            [sys.executable, "-m", "autoparser", "lint", project, "--select", "AP101", "-j", "2"],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)},
            stdout=file,
            stderr=theirs,
        ) as process,
    ):
        os.close(theirs)
        shown = b"".join(read_all(mine))
    assert (process.returncode, out.read_bytes()) == (0, b"11 templates, no finding.\n")
    assert b"linting" in shown
    assert shown.endswith(b"\x1b[2K"), "it wipes itself away"


def read_all(terminal: int) -> Iterator[bytes]:
    """Read what is shown until nobody is left to show anything."""
    with suppress(OSError):
        while piece := os.read(terminal, 4096):
            yield piece
    os.close(terminal)


def test_a_template_comes_from_standard_input(process: Run) -> None:
    ran = process("lint", "-", *TWO, "--format", "concise", stdin=(ROOT / DROPS).read_bytes())
    assert ran.code == 1
    assert ran.out.startswith("standard input:6:13: AP306 [error]")


def test_other_programs_are_asked(autoparser: Run) -> None:
    ran = autoparser("lint", "fixtures/lint/AP810/fires.jinja", "--engines", "--select", "AP810")
    assert ran.code == 1
    assert "minijinja fails at" in ran.out
    assert "on 8 of 8 conversations" in ran.out


def test_where_programs_are_needs_that_they_are_asked(autoparser: Run) -> None:
    ran = autoparser("lint", "fixtures/lint/AP810/fires.jinja", "--python", sys.executable)
    assert (ran.code, ran.out) == (2, "")
    assert "add --engines" in ran.err


TOOLS, NAMES_ALONE = "fixtures/mcp-tools.json", "fixtures/lint/AP534/fires.jinja"
OF_TOOLS = ("--isolated", "--select", "AP534", "--format", "json")


def test_given_tools_are_asked_with_in_the_place_of_ours(autoparser: Run, tmp_path: Path) -> None:
    def messages(*more: str) -> list[str]:
        ran = autoparser("lint", NAMES_ALONE, *OF_TOOLS, "--cache-dir", str(tmp_path), *more)
        (template,) = json.loads(ran.out)["templates"]
        return [each["message"] for each in template["findings"]]

    ours = messages()
    crash, lost = messages("--tools", TOOLS)
    assert "1 of 2 tools with an object without properties, such as opening_hours" in crash
    assert "tool description (in 2), type (in 1)" in lost
    one = tmp_path / "one.json"
    one.write_text('[{"name": "look", "parameters": {"properties": {"a": {"default": 1}}}}]')
    assert messages("--tools", str(one)) == ["of these tools the model is not told default (in 1)"]
    # What was cached of other tools is not the answer.
    assert messages() == ours


def test_tools_whose_parts_all_reach_the_prompt_are_no_finding(autoparser: Run) -> None:
    ran = autoparser("lint", "fixtures/lint/AP534/quiet.jinja", *OF_TOOLS, "--tools", TOOLS)
    assert ran.code == 0
    assert json.loads(ran.out)["templates"][0]["findings"] == []


WRONG_TOOLS = [
    ("{", "line 2, column 1: broken JSON"),
    ("[]", "this list of tools is empty; name a file with tools"),
    ('{"tools": [{"inputSchema": {}}]}', "tools[0]: this has no name; add"),
    (
        '{"result": {"tools": [{"name": "a", "inputSchema": {"type": "objct"}}]}}',
        "tools[0].inputSchema.type: the parameters of a are not a valid JSON schema",
    ),
]


@pytest.mark.parametrize("command", ["lint", "analyze"])
@pytest.mark.parametrize(("text", "words"), WRONG_TOOLS)
def test_wrong_tools_are_told_with_file_and_place(
    command: str, text: str, words: str, autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(text + "\n")
    ran = autoparser(command, NAMES_ALONE, "--tools", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{file}: {words}")
    assert ran.err.count("\n") == 1


def test_rules_that_lack_an_analysis_are_counted(autoparser: Run, tmp_path: Path) -> None:
    path = tmp_path / "ignores.jinja"
    path.write_text("{{ messages | length }} messages", "utf-8")
    asked = ("--isolated", "--select", "AP402,AP515,AP306", "--format", "concise")
    ran = autoparser("lint", path, *asked)
    words = "could not look: 3 rules without a template that can be analysed"
    assert f"{words} (autoparser analyze says why) at 1 template" in ran.out
