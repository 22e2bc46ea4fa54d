"""The pre-commit hook, run by pre-commit in a scratch repository with a clone of this one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
DROPS = ROOT / "fixtures" / "lint" / "AP306" / "fires.jinja"
PRE_COMMIT = shutil.which("pre-commit")

MEANT = (
    *("chat.jinja", "models/a/chat_template.jinja", "a.jinja2", "a.j2"),
    *("models/a/chat_template.json", "chat_template.json"),
)
OTHERS = (*("my_chat_template.json", "models/a/tokenizer_config.json", "a.jinja.txt", "README.md"),)


def test_pre_commit_hook_matches_template_files_only() -> None:
    # The way pre-commit searches.
    found = [name for name in (*MEANT, *OTHERS) if re.search(HOOK["files"], name)]
    assert found == [*MEANT]


def run(*command: str | Path, cwd: Path, **variables: str) -> Any:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(  # noqa: S603 - git and pre-commit
        [str(part) for part in command],
        cwd=cwd,
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(PRE_COMMIT is None, reason="pre-commit is not installed; .ci/run installs it")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a checkout of git")
def test_pre_commit_installs_and_runs_the_hook(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    clone = tmp_path / "clone"
    assert run("git", "clone", "--quiet", ROOT, clone, cwd=tmp_path).returncode == 0
    revision = run("git", "rev-parse", "HEAD", cwd=clone).stdout.strip()
    hook = {"id": HOOK["id"], "args": ["--select", "AP101,AP306"]}
    config = {"repos": [{"repo": str(clone), "rev": revision, "hooks": [hook]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    shutil.copy(DROPS, repository / "chat.jinja")
    (repository / "README.md").write_text("No template.", "utf-8")
    run("git", "init", "--quiet", cwd=repository)
    run("git", "add", "--all", cwd=repository)

    home = {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    ran = run(PRE_COMMIT or "", "run", "--all-files", cwd=repository, **home)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "error AP306 content-dropped-beside-calls" in ran.stdout
    assert "1 template, 1 finding: 1 error." in ran.stdout

    text = DROPS.read_text("utf-8")
    ignore = "{#- autoparser: ignore AP306 as the model was trained -#}\n"
    (repository / "chat.jinja").write_text(ignore + text, "utf-8")
    run("git", "add", "--all", cwd=repository)
    ran = run(PRE_COMMIT or "", "run", "--all-files", cwd=repository, **home)
    assert ran.returncode == 0, ran.stdout + ran.stderr
