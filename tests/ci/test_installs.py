"""The package as pip installs it: beside engines, without requirements, with the oldest packages.

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
from tests.test_packaging import plugin_packages

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = sorted((ROOT / "tests" / "engines" / "bounds").glob("*.txt"))
OLDEST = {
    "llguidance": [
        "tests/analysis/grammar/test_lark.py",
        "tests/analysis/grammar/test_requested_grammar.py",
    ],
    "typer": ["tests/cli/test_options.py"],
}
"""Packages and the tests that the oldest version must pass that our requirements allow."""

pytestmark = pytest.mark.skipif(
    not os.environ.get("AUTOPARSER_INSTALL"), reason="asks the index: set AUTOPARSER_INSTALL=1"
)


def pip(*arguments: str | Path, python: str = sys.executable) -> None:
    command = [python, "-m", "pip", *map(str, arguments)]
    subprocess.run(command, check=True, timeout=600)  # noqa: S603 - pip


@pytest.mark.parametrize("bounds", BOUNDS, ids=lambda bounds: bounds.stem)
def test_pip_finds_versions_compatible_with_both(bounds: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    pip("install", "--dry-run", "--ignore-installed", "--report", report, ROOT, "-r", bounds)
    chosen = {load["metadata"]["name"] for load in json.loads(report.read_text())["install"]}
    assert {"autoparser-chat", "llguidance", "transformers"} <= chosen


def test_plugin_works_with_only_the_packages_of_its_page(tmp_path: Path) -> None:
    pip("wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    pip("install", "--no-deps", *tmp_path.glob("*.whl"), python=python)
    pip("install", *plugin_packages(), python=python)
    session = [ROOT / "tests/plugin_session.py", ROOT / "fixtures/templates/j1-json-in-tags.jinja"]
    done = subprocess.run(  # noqa: S603 - the Python of the new environment
        [python, "-I", *session], check=True, capture_output=True, timeout=120, cwd=tmp_path
    )
    read = json.loads(done.stdout.splitlines()[-1])["read"]
    assert read[:2] == [["hm", ["get_weather"], False], ["hm", ["get_weather"], True]]
    points = plugin_check(python, imports=False).points
    assert [point.what for point in points if point.state is CheckState.NO] == ["an engine"]


@pytest.mark.parametrize(("package", "files"), OLDEST.items(), ids=lambda value: str(value)[:20])
def test_oldest_allowed_version_passes_the_tests_that_use_it(
    package: str, files: list[str], tmp_path: Path
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (floor,) = re.findall(rf"{package}>=([\d.]+)", " ".join(project["dependencies"]))
    pip("install", "--no-deps", "--target", tmp_path, f"{package}=={floor}")
    # An old package may use features that newer versions of its requirements deprecate.
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-W", "default"]
    # The folder takes precedence over installed packages.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = f"import {package}, sys; sys.exit(not {package}.__file__.startswith(sys.argv[1]))"
    for command in (["-c", found, str(tmp_path)], ["-m", "pytest", *options, *files]):
        subprocess.run(  # noqa: S603 - tests of this repository
            [sys.executable, *command], check=True, timeout=600, cwd=ROOT, env=environment
        )
