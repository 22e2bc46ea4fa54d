"""The demo's files: they are in the package, they are a clean example, and none is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

from autoparser import analyze
from autoparser.cli.model_files import FILES
from tests.cli.conftest import ROOT, Run


def test_what_is_written_is_what_the_package_brings(autoparser: Run, tmp_path: Path) -> None:
    directory = tmp_path / "a" / "demo"
    ran = autoparser("demo", "-o", directory, "--json")
    assert json.loads(ran.out)["files"] == [str(directory / name) for name in FILES]
    brought = ROOT / "cli" / "demo_files"
    assert {path.name for path in brought.iterdir()} == set(FILES)
    for name in FILES:
        assert (directory / name).read_bytes() == (brought / name).read_bytes()
    # Once more changes nothing, and is no error.
    assert autoparser("demo", "-o", directory).code == 0


def test_another_file_of_that_name_stays(autoparser: Run, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("mine", "utf-8")
    ran = autoparser("demo", "-o", tmp_path)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "tools.yaml" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["tools.yaml"]
    assert (tmp_path / "tools.yaml").read_text("utf-8") == "mine"


def test_a_directory_that_cannot_be_made_is_an_error(autoparser: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    ran = autoparser("demo", "-o", tmp_path / "file" / "demo")
    assert ran.code == 2
    assert "name a directory that may be made" in ran.err


def test_the_template_is_learned_whole_and_its_output_is_read() -> None:
    analysis = analyze(ROOT / "cli" / "demo_files" / "chat_template.jinja")
    assert analysis.ok
    text = (ROOT / "cli" / "demo_files" / "output.txt").read_text("utf-8")
    assert len(analysis.parser().parse(text).tool_calls) == 2
