"""Grammars under the oldest llguidance that the package allows, from the index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("test_llguidance_floor.py", "test_lark.py", "test_requested_grammar.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ci,
    pytest.mark.skipif(
        not os.environ.get("AUTOPARSER_INSTALL"), reason="asks the index: set AUTOPARSER_INSTALL=1"
    ),
]


def test_grammars_load_in_the_oldest_llguidance_that_is_allowed(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (floor,) = re.findall(r"llguidance>=([\d.]+)", " ".join(project["dependencies"]))
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*install, f"llguidance=={floor}"], check=True, timeout=300)  # noqa: S603 - pip
    files = [str(ROOT / "tests" / "analysis" / "grammar" / name) for name in ASKED]
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider"]
    # The folder comes before what is installed.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = "import llguidance, sys; sys.exit(not llguidance.__file__.startswith(sys.argv[1]))"
    for command in (["-c", found, str(tmp_path)], ["-m", "pytest", *options, *files]):
        subprocess.run(  # noqa: S603 - tests of this repository
            [sys.executable, *command], check=True, timeout=600, cwd=ROOT, env=environment
        )
