"""A full disk, a closed pipe, an irregular file: one line of error, and no data lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autoparser.analysis.sources import local_files
from tests.analysis.sources.test_written_files import NO_SPACE

from .conftest import ROOT, Run, Start

TEMPLATE = "fixtures/lint/AP306/quiet.jinja"
QUESTION = ("--messages", "fixtures/debugging/question.yaml")
FULL = Path("/dev/full")
"""A device of Linux that no byte fits on."""


def test_full_disk_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    file = tmp_path / "known.txt"
    file.write_text("old", "utf-8")
    monkeypatch.setattr(os, "fsync", NO_SPACE)
    ran = autoparser("rule", "-o", file)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert "make room there" in ran.err
    assert file.read_text("utf-8") == "old"
    assert [*tmp_path.iterdir()] == [file], "what was written beside is gone"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no such device")
@pytest.mark.parametrize(
    "command",
    [("rule", "AP306"), pytest.param(("analyze", TEMPLATE, "--json"), marks=pytest.mark.slow)],
)
def test_full_standard_output_is_a_one_line_error(command: tuple[str, ...], start: Start) -> None:
    with FULL.open("w") as full, start(*command, stdout=full.fileno()) as running:
        err = running.communicate()[1]
    words = "standard output: cannot be written (No space left on device); "
    assert err == words + "make room there, or name a file with --output\n"
    assert running.returncode == 2


def test_closed_pipe_exits_silently_with_141(start: Start) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with start("rule", stdout=writer) as running:
        assert running.communicate()[1] == ""
    os.close(writer)
    assert running.returncode == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_not_stop_a_command(closed: str, tmp_path: Path) -> None:
    page = tmp_path / "format.json"
    line = f'exec "$0" -m autoparser analyze "$1" --no-isolation --json -o "$2" {closed}'
    template = "fixtures/templates/j1-json-in-tags.jinja"
    command = ["bash", "-c", line, sys.executable, template, str(page)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, text=True)  # noqa: S603
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "", False)
    assert json.loads(page.read_text("utf-8"))["template"]


def test_closed_pipe_prints_no_traceback(start: Start) -> None:
    with start("analyze", "fixtures/templates/j1-json-in-tags.jinja", "--json") as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(1)
        writer.stdout.close()
        assert writer.stderr.read() == ""
        assert writer.wait() == 0


def test_pipe_opened_late_is_written_and_read(tmp_path: Path, autoparser: Run) -> None:
    pipe, text = tmp_path / "pipe", "x" * 200_000
    os.mkfifo(pipe)
    (tmp_path / "long.jinja").write_text(f"{{{{ '{text}' }}}}", "utf-8")
    read: list[str] = []
    reader = threading.Timer(0.2, lambda: read.append(pipe.read_text("utf-8")))
    reader.daemon = True
    reader.start()
    ran = autoparser("render", tmp_path / "long.jinja", *QUESTION, "-o", pipe)
    reader.join(10)
    assert (ran.code, read) == (0, [text]), ran.err


@pytest.mark.parametrize("name", ["huge.jinja", "huge.json"])
def test_huge_file_is_refused_before_reading(
    name: str, tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / name
    with source.open("wb") as file:
        file.truncate(1 << 30)
    # Decoding follows reading: no byte may be read before the size is checked.
    monkeypatch.setattr(local_files, "decode_text", pytest.fail)
    words = f"{source}: larger than 64 MiB, the limit for a text"
    for use in (("analyze", source), ("parse", TEMPLATE, "--input", source)):
        ran = autoparser(*use)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err
