"""The core's wheel in an environment of its own: the plugin works, and nothing else is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from autoparser.analysis.engines.plugin_check import CheckState, plugin_check

ROOT = Path(__file__).resolve().parents[2]
NOT_THERE = ("typer", "rich", "platformdirs", "jiter", "markdown_it")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ci,
    pytest.mark.skipif(
        not os.environ.get("AUTOPARSER_INSTALL"), reason="asks the index: set AUTOPARSER_INSTALL=1"
    ),
]


def test_a_plugin_works_where_the_core_alone_is_installed(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(wheels)]
    subprocess.run([*build, str(ROOT / ".ci" / "core")], check=True, timeout=300)  # noqa: S603 - pip
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    (wheel,) = wheels.glob("autoparser_core-*.whl")
    subprocess.run([python, "-m", "pip", "install", str(wheel)], check=True, timeout=300)  # noqa: S603
    session = [python, "plugin_session.py", str(ROOT / "fixtures/templates/j1-json-in-tags.jinja")]
    (tmp_path / "plugin_session.py").write_bytes((ROOT / "tests/plugin_session.py").read_bytes())
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    told = subprocess.run(  # noqa: S603 - a file of this repository
        session, check=True, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=clean
    )
    read = json.loads(told.stdout.splitlines()[-1])["read"]
    assert read[0] == ["hm", ["get_weather"], False]
    assert read[1] == ["hm", ["get_weather"], True]
    points = plugin_check(python, imports=False).points
    assert points[0].found.startswith("autoparser-core ")
    assert [each.what for each in points if each.state is CheckState.NO] == ["an engine"]
    look = "import importlib.util as i, sys; print([n for n in sys.argv[1:] if i.find_spec(n)])"
    there = subprocess.run(  # noqa: S603 - the same Python
        [python, "-c", look, *NOT_THERE], check=True, capture_output=True, text=True, env=clean
    )
    assert there.stdout.strip() == "[]"
    missing = [python, "-c", "from autoparser import Renderer"]
    said = subprocess.run(missing, check=False, capture_output=True, text=True, env=clean)  # noqa: S603
    assert "is not in autoparser-core: pip install autoparser-chat" in said.stderr
