"""The package installs beside the engines that load it: pip's resolver judges their bounds.

`tests/engines/bounds` has, of an engine's own requirements, those of packages that are ours, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = sorted((ROOT / "tests" / "engines" / "bounds").glob("*.txt"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ci,
    pytest.mark.skipif(
        not os.environ.get("AUTOPARSER_INSTALL"), reason="asks the index: set AUTOPARSER_INSTALL=1"
    ),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=[file.stem for file in BOUNDS])
def test_pip_finds_versions_that_suit_both(bounds: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    subprocess.run(  # noqa: S603 - pip, with files of this repository
        [*command, "--report", str(report), str(ROOT), "-r", str(bounds)], check=True, timeout=600
    )
    chosen = {each["metadata"]["name"] for each in json.loads(report.read_text())["install"]}
    assert {"autoparser-chat", "llguidance", "transformers"} <= chosen
