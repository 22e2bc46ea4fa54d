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
import threading
import venv
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from runpy import run_path
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


def test_action_scripts_contain_no_expression() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an input within a script is code"
    assert ACTION["runs"]["using"] == "composite"
    assert all(part["description"] for part in (*ACTION["inputs"].values(), ACTION))


def test_findings_are_annotations_sarif_and_a_summary(runner: Runner) -> None:
    shutil.copy(DROPS, runner.repository / "chat.jinja")
    ran = runner.run(STEPS["Lint"], args=SELECT, **{"sarif-file": "lint.sarif"})
    assert ran.code == 1
    assert ran.out.startswith("::error file=chat.jinja,line=4,col=5,title=AP306 ")
    assert ran.outputs == "sarif-file=lint.sarif\n"
    assert "| 🔴 error | `AP306`" in ran.summary
    log = json.loads((runner.repository / "lint.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["AP306"]


def test_sound_repository_passes(runner: Runner) -> None:
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


class PullRequest(NamedTuple):
    """The comments of a pull request, as GitHub's API on this machine keeps them."""

    comments: dict[int, dict[str, Any]]
    requests: list[str]
    faults: list[int]
    """The status codes of the next answers, first to last; then the API works."""


class GitHubApi(BaseHTTPRequestHandler):
    """As much of GitHub's API as comments need."""

    pull: PullRequest

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pull = self.pull
        pull.requests.append(f"{self.command} {self.path}")
        assert self.headers["Authorization"] == "Bearer t"
        if pull.faults:
            return self.reply(pull.faults.pop(0), {"message": "no"})
        if self.path == "/graphql":
            assert given["variables"] == {"owner": "some", "name": "models", "number": 7}
            found = {"comments": {"nodes": [*pull.comments.values()]}}
            return self.reply(200, {"data": {"repository": {"pullRequest": found}}})
        if self.command == "POST":
            assert self.path == "/repos/some/models/issues/7/comments"
            at = len(pull.comments) + 1
            pull.comments[at] = {"databaseId": at, "viewerDidAuthor": True}
        else:
            at = int(self.path.removeprefix("/repos/some/models/issues/comments/"))
        pull.comments[at]["body"] = given["body"]
        return self.reply(200, {})

    do_PATCH = do_POST  # noqa: N815 - a name of the library's

    def reply(self, code: int, document: Any) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def pull_request(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> Iterator[PullRequest]:
    """A pull request that changes a template, and the API that has its comments."""
    here = runner.repository
    (here / "my models").mkdir()
    shutil.copy(QUIET, here / "my models" / "chat.jinja")
    git(here, "init", "--quiet")
    commit(here, "Before")
    base = git(here, "rev-parse", "HEAD").strip()
    shutil.copy(DROPS, here / "my models" / "chat.jinja")
    shutil.copy(DROPS, here / "new.jinja")
    commit(here, "After")
    number = "github.event.pull_request.number"
    runner.event = {"github.event.pull_request.base.sha": base, number: "7"}
    # Another workflow comments with the same token, and another person quotes the mark.
    others: list[dict[str, Any]] = [
        {"databaseId": 1, "viewerDidAuthor": True, "body": "Coverage: 99 %"},
        {"databaseId": 2, "viewerDidAuthor": False, "body": "<!-- autoparser compare -->\nMine"},
    ]
    pull = PullRequest({row["databaseId"]: row for row in others}, [], [])
    handler = type("Handler", (GitHubApi,), {"pull": pull})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("GITHUB_API_URL", url)
        monkeypatch.setenv("GITHUB_GRAPHQL_URL", f"{url}/graphql")
        monkeypatch.setenv("GITHUB_REPOSITORY", "some/models")
        yield pull
        server.shutdown()
    assert pull.comments[1]["body"] == "Coverage: 99 %"
    assert pull.comments[2]["body"].endswith("Mine")


def commit(place: Path, title: str) -> None:
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message", title)


def test_each_push_updates_one_comment(runner: Runner, pull_request: PullRequest) -> None:
    ran = runner.run(STEPS["Compare"], token="t")
    assert (ran.code, ran.out) == (0, "")
    first = pull_request.comments[3]["body"]
    assert first.startswith(
        "<!-- autoparser compare -->\n### Chat template `./my models/chat.jinja`\n"
    )
    assert "Worse: 1 new finding; 2 round trips broken." in first
    assert "- new AP306" in first
    assert "new.jinja" not in first
    assert first.endswith(ran.summary)

    # A push reverts the change.
    shutil.copy(QUIET, runner.repository / "my models" / "chat.jinja")
    commit(runner.repository, "Back")
    ran = runner.run(STEPS["Compare"], token="t")
    assert (ran.code, ran.out, ran.summary) == (0, "", "")
    assert pull_request.comments.keys() == {1, 2, 3}
    assert pull_request.comments[3]["body"].endswith("No chat template is changed any more.")
    assert pull_request.requests == [
        *("POST /graphql", "POST /repos/some/models/issues/7/comments"),
        *("POST /graphql", "PATCH /repos/some/models/issues/comments/3"),
    ]


def test_failing_api_is_a_warning(runner: Runner, pull_request: PullRequest) -> None:
    pull_request.faults.append(403)
    ran = runner.run(STEPS["Compare"], token="t")
    assert ran.code == 0
    assert ran.out.startswith("::warning title=autoparser::the comment could not be written (HTTP")
    assert ran.out.count("\n") == 1
    assert "Worse: 1 new finding" in ran.summary
    assert pull_request.comments.keys() == {1, 2}


def test_long_comments_are_cut_after_a_line_and_close_their_fence() -> None:
    comment = run_path(str(ROOT / ".ci" / "pull_request_comment.py"))
    shortened, longest = comment["shortened"], comment["LONGEST"]
    whole = "é" * longest
    assert shortened(whole) == whole
    cut = shortened("### A\n````diff\n" + "- a line\n" * longest)
    assert len(cut) < longest + 100
    assert cut.endswith(
        "- a line\n````\n\n_The rest is left out; the job's summary has all of it._"
    )


HOSTILE = "x'; touch pwned; '\n$(touch pwned)\n`touch pwned`\n--output=pwned\n*"


@pytest.mark.parametrize("name", ["paths", "args", "sarif-file"])
def test_action_input_is_not_executed(name: str, runner: Runner) -> None:
    shutil.copy(QUIET, runner.repository / "chat.jinja")
    value = HOSTILE if name == "paths" else HOSTILE.replace("\n", " ").replace("--output", "--o")
    given = {"args": "--fail-on never", name: value}
    ran = runner.run(STEPS["Lint"], **given)
    # A file may have this name.
    assert ran.code == (0 if name == "sarif-file" else 2)
    assert not list(runner.place.rglob("pwned"))


@pytest.mark.skipif(
    "AUTOPARSER_INSTALL" not in os.environ,
    reason="installs the package as the action does; AUTOPARSER_INSTALL=1 lets it",
)
def test_installed_action_reports_findings_and_fails(tmp_path: Path) -> None:
    venv.create(tmp_path / "python", with_pip=True)
    runner = Runner(tmp_path, tmp_path / "python" / "bin")
    shutil.copy(DROPS, runner.repository / "chat.jinja")
    installed = runner.run(STEPS["Install autoparser"])
    assert installed.code == 0, installed.out
    ran = runner.run(STEPS["Lint"], args=SELECT)
    assert ran.code == 1
    assert ran.out.startswith("::error file=chat.jinja,line=4,col=5,title=AP306 ")
