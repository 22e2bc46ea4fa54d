"""An edited template of round trips, which patch takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, Run

pytestmark = pytest.mark.slow

GOOD = "fixtures/templates/history-last-query.jinja"


def test_an_edited_template_is_a_diff_or_a_file(tmp_path: Path, autoparser: Run) -> None:
    choice = ("--scenario", "reasoning + answer", "--to", "template")
    ran = autoparser("roundtrip", GOOD, *choice)
    assert ran.code == 0
    told = "1 edit: 1 more hold: reasoning + answer.\nRendered to the same text: "
    assert ran.err.startswith(told)
    edited = tmp_path / "edited.jinja"
    assert autoparser("roundtrip", GOOD, *choice, "--output", edited).out == ""
    (tmp_path / "fixtures/templates").mkdir(parents=True)
    shutil.copy(ROOT / GOOD, tmp_path / GOOD)
    patch = ["patch", "-p1", "--quiet"]
    subprocess.run(patch, cwd=tmp_path, input=ran.out, text=True, check=True)  # noqa: S603
    assert (tmp_path / GOOD).read_text("utf-8") == edited.read_text("utf-8")
    again = autoparser("roundtrip", edited, *choice)
    assert (again.code, again.out) == (0, "")
    assert again.err == "Nothing breaks, so nothing is edited.\n"
