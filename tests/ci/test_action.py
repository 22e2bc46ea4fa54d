"""The GitHub Action: its steps are run by bash as a runner runs them, in a scratch repository.

What a runner would do besides, to set up Python, is done already. The whole of it installs the
package, which takes a while: that runs where AUTOPARSER_INSTALL is set, as in ``.ci/run``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
DROPS = ROOT / "fixtures" / "lint" / "AP306" / "fires.jinja"
QUIET = DROPS.with_name("quiet.jinja")
SELECT = "--select AP101,AP306"
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


class Ran(NamedTuple):
    """The result of a step."""

    code: int
    out: str
    outputs: str
    summary: str


class Runner:
    """As much of a runner as a composite action's `run` steps need."""

    def __init__(self, place: Path, path: Path) -> None:
        self.place = place
        self.repository = place / "repository"
        self.repository.mkdir()
        self.path = path
        self.event: dict[str, str] = {}
        """The event's values, by their expressions."""

    def run(self, step: dict[str, Any], **given: str) -> Ran:
        inputs = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()}
        assert given.keys() <= inputs.keys()
        known = {f"inputs.{name}": value for name, value in {**inputs, **given}.items()}
        known["github.action_path"] = str(ROOT)
        known |= self.event
        script = self.place / "step.sh"
        script.write_text(substituted(step["run"], known), "utf-8")
        files = {name: self.place / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("", "utf-8")
        assert step["shell"] == "bash"
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
        variables |= {name: str(file) for name, file in files.items()}
        variables |= {name: substituted(value, known) for name, value in step["env"].items()}
        done = subprocess.run(  # noqa: S603 - the action's own script
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # noqa: S607
            cwd=self.repository / substituted(step.get("working-directory", "."), known),
            env={**variables, "PATH": f"{self.path}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        left = [file.read_text("utf-8") for file in files.values()]
        return Ran(done.returncode, done.stdout + done.stderr, *left)


def substituted(text: str, known: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda match: known[match[1]], text)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A runner on which this tree is installed."""
    path = tmp_path / "bin"
    path.mkdir()
    command = path / "autoparser"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m autoparser "$@"\n', "utf-8"
    )
    command.chmod(0o755)
    return Runner(tmp_path, path)


def test_no_script_holds_an_input() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an input within a script is code"
    assert ACTION["runs"]["using"] == "composite"
    assert all(part["description"] for part in (*ACTION["inputs"].values(), ACTION))


def test_findings_are_annotations_sarif_and_a_summary(runner: Runner) -> None:
    shutil.copy(DROPS, runner.repository / "chat.jinja")
    ran = runner.run(STEPS["Lint"], args=SELECT, **{"sarif-file": "lint.sarif"})
    assert ran.code == 1
    assert ran.out.startswith("::error file=chat.jinja,line=6,title=AP306 ")
    assert ran.outputs == "sarif-file=lint.sarif\n"
    assert "| 🔴 error | `AP306`" in ran.summary
    log = json.loads((runner.repository / "lint.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["AP306"]


def test_a_sound_repository_passes(runner: Runner) -> None:
    (runner.repository / "models" / "a b").mkdir(parents=True)
    shutil.copy(QUIET, runner.repository / "models" / "a b" / "chat.jinja")
    shutil.copy(DROPS, runner.repository / "other.jinja")
    paths = "models/a b/chat.jinja\n\nmodels\n"
    ran = runner.run(STEPS["Lint"], paths=paths, args=SELECT, summary="false")
    assert (ran.code, ran.summary) == (0, "")
    assert ran.out == "autoparser lint: 1 template, no finding\n"
    ran = runner.run(
        STEPS["Lint"], args=f"{SELECT}  --fail-on never", **{"working-directory": "models"}
    )
    assert ran.code == 0


def git(place: Path, *words: str) -> str:
    options = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(place), *options, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_a_pull_request_is_told_what_changes(runner: Runner) -> None:
    here = runner.repository
    (here / "my models").mkdir()
    shutil.copy(QUIET, here / "my models" / "chat.jinja")
    git(here, "init", "--quiet")
    git(here, "remote", "add", "origin", str(here))
    git(here, "add", ".")
    git(here, "commit", "--quiet", "--message", "Before")
    base = git(here, "rev-parse", "HEAD").strip()
    shutil.copy(DROPS, here / "my models" / "chat.jinja")
    shutil.copy(DROPS, here / "new.jinja")
    git(here, "add", ".")
    git(here, "commit", "--quiet", "--message", "After")
    told = runner.place / "told.md"
    (runner.path / "gh").write_text(
        f'#!/bin/bash\necho "${{@:1:5}}"\ncp "${{@: -1}}" "{told}"\n', "utf-8"
    )
    (runner.path / "gh").chmod(0o755)
    number = "github.event.pull_request.number"
    runner.event = {"github.event.pull_request.base.sha": base, number: "7", "github.token": "t"}
    ran = runner.run(STEPS["Compare"], token="t")
    assert (ran.code, ran.out) == (0, "pr comment 7 --edit-last --create-if-none\n")
    comment = told.read_text("utf-8")
    assert comment.startswith("### Chat template `./my models/chat.jinja`\n")
    assert "Worse: 1 new finding; 2 round trips broken." in comment
    assert "- new AP306" in comment
    assert "new.jinja" not in comment


HOSTILE = "x'; touch pwned; '\n$(touch pwned)\n`touch pwned`\n--output=pwned\n*"


@pytest.mark.parametrize("name", ["paths", "args", "sarif-file"])
def test_action_input_is_not_executed(name: str, runner: Runner) -> None:
    shutil.copy(QUIET, runner.repository / "chat.jinja")
    value = HOSTILE if name == "paths" else HOSTILE.replace("\n", " ").replace("--output", "--o")
    given = {"args": "--fail-on never", name: value}
    ran = runner.run(STEPS["Lint"], **given)
    # A file may be called like this.
    assert ran.code == (0 if name == "sarif-file" else 2)
    assert not list(runner.place.rglob("pwned"))


@pytest.mark.skipif(
    "AUTOPARSER_INSTALL" not in os.environ,
    reason="installs the package as the action does; AUTOPARSER_INSTALL=1 lets it",
)
def test_the_whole_action(tmp_path: Path) -> None:
    venv.create(tmp_path / "python", with_pip=True)
    runner = Runner(tmp_path, tmp_path / "python" / "bin")
    shutil.copy(DROPS, runner.repository / "chat.jinja")
    installed = runner.run(STEPS["Install autoparser"])
    assert installed.code == 0, installed.out
    ran = runner.run(STEPS["Lint"], args=SELECT)
    assert ran.code == 1
    assert ran.out.startswith("::error file=chat.jinja,line=6,title=AP306 ")
