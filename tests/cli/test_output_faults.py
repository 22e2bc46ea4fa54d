"""A full disk, a closed pipe, a file that is none: told in a line, and nothing is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources import local_files as bounded_reading
from autoparser.cli.output import write_file
from tests.cli.conftest import ROOT, Run

TEMPLATE = "fixtures/lint/AP306/quiet.jinja"
FULL = Path("/dev/full")
"""A device of Linux that no byte fits on."""


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "known.json"
    file.write_text("old", "utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AutoparserError, match=r"No space left on device.*make room there"):
        write_file(file, "new")
    assert file.read_text("utf-8") == "old"
    assert [*tmp_path.iterdir()] == [file], "what was written beside is gone"


def test_a_file_keeps_its_mode_and_a_link_its_file(tmp_path: Path) -> None:
    file, link = tmp_path / "known.json", tmp_path / "link.json"
    file.write_text("old", "utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    write_file(link, "new")
    assert link.is_symlink()
    assert (file.read_text("utf-8"), file.stat().st_mode & 0o777) == ("new", 0o640)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no such device")
@pytest.mark.parametrize("command", [("rule", "AP306"), ("analyze", TEMPLATE, "--json")])
def test_a_full_standard_output_is_one_line(command: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        ran = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
            [sys.executable, "-m", "autoparser", *command],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    words = "standard output: cannot be written (No space left on device); "
    words += "make room there, or name a file with --output\n"
    assert (ran.returncode, ran.stderr) == (2, words)


def test_a_closed_pipe_ends_quietly_with_the_code_of_shells() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "autoparser", "rule"],
            cwd=ROOT,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_what_is_no_file_is_named_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    quiet = (ROOT / TEMPLATE).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.jinja").write_text(quiet, "utf-8")
    os.mkfifo("pipe.jinja")
    for source in (".", "pipe.jinja"):
        ran = autoparser("lint", source, "--isolated", "--select", "AP306", "--format", "concise")
        assert ran.code == 2
        assert "pipe.jinja:1:1: [problem] this is a named pipe, which is not read" in ran.out
    ran = autoparser("lint", os.devnull, "--isolated", "--format", "concise")
    assert f"{os.devnull}:1:1: [problem] this is a device, which is not read" in ran.out


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, autoparser: Run) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = autoparser("lint", TEMPLATE, "--isolated", "--baseline", pipe)
    assert (ran.code, "this is not a baseline" in ran.err) == (2, True)
    ran = autoparser("lint", TEMPLATE, "--config", pipe, "--tokenizer", pipe)
    assert (ran.code, "this is not a tokenizer" in ran.err) == (2, True)


def test_a_pipe_without_another_end_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    monkeypatch.setattr(bounded_reading, "pipe_patience", lambda: 0.1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments in (
        ("analyze", pipe),
        ("grammar", TEMPLATE, "--tools", pipe),
        ("parse", TEMPLATE, "--input", pipe),
    ):
        ran = autoparser(*arguments)
        words = "this is a named pipe, and nothing was written into it for 0.1 seconds"
        assert (ran.code, words in ran.err) == (2, True), arguments
    ran = autoparser("analyze", TEMPLATE, "-o", pipe)
    assert (ran.code, "nobody read it for 0.1 seconds" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "PIPE"),
        ("decode", "PIPE"),
        ("lint", TEMPLATE, "--isolated", "--no-cache", "--tools", "PIPE"),
        ("lint", TEMPLATE, "--isolated", "--no-cache", "--select", "AP306", "-o", "PIPE"),
        ("render", TEMPLATE, "--messages", "PIPE"),
        ("render", TEMPLATE, "--messages", "MESSAGES", "-o", "PIPE"),
    ],
)
def test_timeout_limits_the_wait_for_a_pipe(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "Hi"}]', "utf-8")
    places = {"PIPE": str(pipe), "MESSAGES": str(messages)}
    given = [places.get(each, each) for each in arguments]
    ran = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", *given, "--timeout", "0.5"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (ran.returncode, "for 0.5 seconds" in ran.stderr) == (2, True), ran.stderr


def test_records_of_a_survey_in_a_pipe_are_refused(tmp_path: Path, autoparser: Run) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = autoparser("survey", "fixtures/lint/AP306", "--records", pipe)
    assert (ran.code, f"{pipe}: this is a named pipe" in ran.err) == (2, True), ran.err


def test_a_pipe_that_is_opened_late_is_written_and_read(tmp_path: Path, autoparser: Run) -> None:
    pipe, text = tmp_path / "pipe", "x" * 200_000
    os.mkfifo(pipe)
    (tmp_path / "long.jinja").write_text(f"{{{{ '{text}' }}}}", "utf-8")
    (tmp_path / "messages.json").write_text('[{"role": "user", "content": "Hi"}]', "utf-8")
    read: list[str] = []
    reader = threading.Timer(0.3, lambda: read.append(pipe.read_text("utf-8")))
    reader.start()
    messages = ("--messages", tmp_path / "messages.json")
    ran = autoparser("render", tmp_path / "long.jinja", *messages, "-o", pipe)
    reader.join()
    assert (ran.code, read) == (0, [text]), ran.err


def test_a_device_without_end_is_no_baseline(autoparser: Run) -> None:
    ran = autoparser("lint", TEMPLATE, "--isolated", "--baseline", "/dev/zero")
    assert (ran.code, "this is larger than 64 MiB" in ran.err) == (2, True)


def test_a_broken_gguf_is_called_one(tmp_path: Path, autoparser: Run) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\x03\0\0\0abc")
    ran = autoparser("lint", file, "--isolated", "--format", "json")
    assert ran.code == 2
    assert '"message": "this is a broken GGUF file: the file ends in the middle' in ran.out
    assert '"place": "byte 8"' in ran.out
