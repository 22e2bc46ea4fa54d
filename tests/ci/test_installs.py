"""The package as pip installs it: beside engines, as the core alone, with the oldest llguidance.

`tests/engines/bounds` has, of an engine's own requirements, those of packages that are ours, too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from autoparser.analysis.engines.plugin_check import CheckState, plugin_check

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = sorted((ROOT / "tests" / "engines" / "bounds").glob("*.txt"))
NOT_IN_CORE = ("typer", "rich", "platformdirs", "jiter", "markdown_it")
GRAMMAR_TESTS = ("test_lark.py", "test_requested_grammar.py")

pytestmark = pytest.mark.skipif(
    not os.environ.get("AUTOPARSER_INSTALL"), reason="asks the index: set AUTOPARSER_INSTALL=1"
)


def pip(*arguments: str | Path, python: str = sys.executable) -> None:
    command = [python, "-m", "pip", *map(str, arguments)]
    subprocess.run(command, check=True, timeout=600)  # noqa: S603 - pip


@pytest.mark.parametrize("bounds", BOUNDS, ids=lambda bounds: bounds.stem)
def test_pip_finds_versions_that_suit_both(bounds: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    pip("install", "--dry-run", "--ignore-installed", "--report", report, ROOT, "-r", bounds)
    chosen = {each["metadata"]["name"] for each in json.loads(report.read_text())["install"]}
    assert {"autoparser-chat", "llguidance", "transformers"} <= chosen


def test_a_plugin_works_where_the_core_alone_is_installed(tmp_path: Path) -> None:
    pip("wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT / ".ci" / "core")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pip("install", *tmp_path.glob("autoparser_core-*.whl"), python=python)
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}

    def run(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [python, *map(str, arguments)]
        return subprocess.run(  # noqa: S603 - the Python of the new environment
            command,
            check=check,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env=clean,
        )

    (tmp_path / "plugin_session.py").write_bytes((ROOT / "tests/plugin_session.py").read_bytes())
    told = run("plugin_session.py", ROOT / "fixtures/templates/j1-json-in-tags.jinja")
    read = json.loads(told.stdout.splitlines()[-1])["read"]
    assert read[:2] == [["hm", ["get_weather"], False], ["hm", ["get_weather"], True]]
    points = plugin_check(python, imports=False).points
    assert points[0].found.startswith("autoparser-core ")
    assert [each.what for each in points if each.state is CheckState.NO] == ["an engine"]
    look = "import importlib.util as i, sys; print([n for n in sys.argv[1:] if i.find_spec(n)])"
    assert run("-c", look, *NOT_IN_CORE).stdout.strip() == "[]"
    said = run("-c", "from autoparser import Renderer", check=False).stderr
    assert "is not in autoparser-core; install autoparser-chat in its place" in said


def test_grammars_load_in_the_oldest_llguidance_that_is_allowed(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (floor,) = re.findall(r"llguidance>=([\d.]+)", " ".join(project["dependencies"]))
    pip("install", "--no-deps", "--target", tmp_path, f"llguidance=={floor}")
    files = [str(ROOT / "tests" / "analysis" / "grammar" / name) for name in GRAMMAR_TESTS]
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider"]
    # The folder comes before what is installed.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = "import llguidance, sys; sys.exit(not llguidance.__file__.startswith(sys.argv[1]))"
    for command in (["-c", found, str(tmp_path)], ["-m", "pytest", *options, *files]):
        subprocess.run(  # noqa: S603 - tests of this repository
            [sys.executable, *command], check=True, timeout=600, cwd=ROOT, env=environment
        )
