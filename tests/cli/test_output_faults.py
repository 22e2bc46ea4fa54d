"""A full disk, a closed pipe, a file that is none: told in a line, and nothing is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autoparser.analysis.sources import local_files
from autoparser.cli import wings

from .conftest import ROOT, Run

TEMPLATE = "fixtures/lint/AP306/quiet.jinja"
QUESTION = ("--messages", "fixtures/debugging/question.yaml")
FULL = Path("/dev/full")
"""A device of Linux that no byte fits on."""


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    file = tmp_path / "known.txt"
    file.write_text("old", "utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    ran = autoparser("rule", "-o", file)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert "make room there" in ran.err
    assert file.read_text("utf-8") == "old"
    assert [*tmp_path.iterdir()] == [file], "what was written beside is gone"


def test_a_file_keeps_its_mode_and_a_link_its_file(tmp_path: Path, autoparser: Run) -> None:
    file, link = tmp_path / "known.txt", tmp_path / "link.txt"
    file.write_text("old", "utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    assert autoparser("rule", "-o", link).code == 0
    assert link.is_symlink()
    assert "AP101" in file.read_text("utf-8")
    assert file.stat().st_mode & 0o777 == 0o640


def printed_to(stdout: int, *command: str) -> tuple[int, str]:
    ran = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", *command],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no such device")
@pytest.mark.parametrize(
    "command",
    [("rule", "AP306"), pytest.param(("analyze", TEMPLATE, "--json"), marks=pytest.mark.slow)],
)
def test_a_full_standard_output_is_one_line(command: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        code, err = printed_to(full.fileno(), *command)
    words = "standard output: cannot be written (No space left on device); "
    assert (code, err) == (2, words + "make room there, or name a file with --output\n")


def test_a_closed_pipe_ends_quietly_with_the_code_of_shells() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert printed_to(writer, "rule") == (141, "")
    finally:
        os.close(writer)


def test_what_is_no_file_is_named_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    quiet = (ROOT / TEMPLATE).read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.jinja").write_text(quiet, "utf-8")
    os.mkfifo("pipe.jinja")
    lint = ("--isolated", "--select", "AP306", "--format", "concise")
    ran = autoparser("lint", "pipe.jinja", *lint)
    assert ran.code == 2
    assert "pipe.jinja:1:1: [problem] this is a named pipe, which is not read" in ran.out
    ran = autoparser("lint", ".", *lint)
    assert ran.code == 0
    assert "left out: pipe.jinja: this is a named pipe, which is not read" in ran.out
    ran = autoparser("lint", os.devnull, "--isolated", "--format", "concise")
    assert f"{os.devnull}:1:1: [problem] this is a device, which is not read" in ran.out


LINT = ("lint", TEMPLATE, "--isolated", "--no-cache")
NOT_WAITED_FOR = [
    # Files that a command looks at once: what is in a pipe then is all of it.
    ((*LINT, "--baseline", "PIPE"), "this is not a baseline"),
    ((*LINT, "--baseline", "/dev/zero"), "this is larger than 64 MiB"),
    (("lint", TEMPLATE, "--config", "PIPE", "--tokenizer", "PIPE"), "this is not a tokenizer"),
    (("survey", "fixtures/lint/AP306", "--records", "PIPE"), "PIPE: this is a named pipe"),
    # Files that are read and written, for as long as the limit says.
    (("analyze", "PIPE"), "nothing was written into it for 0.1 seconds"),
    (("grammar", TEMPLATE, "--tools", "PIPE"), "nothing was written into it for 0.1 seconds"),
    (("parse", TEMPLATE, "--input", "PIPE"), "nothing was written into it for 0.1 seconds"),
    (("analyze", TEMPLATE, "-o", "PIPE"), "nobody read it for 0.1 seconds"),
]


@pytest.mark.parametrize(("use", "words"), NOT_WAITED_FOR)
def test_a_pipe_without_another_end_is_not_waited_for_without_end(
    use: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    autoparser: Run,
) -> None:
    for module in (wings, local_files):
        monkeypatch.setattr(module, "pipe_patience", lambda: 0.1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = autoparser(*(pipe if each == "PIPE" else each for each in use))
    assert ran.code == 2
    assert words.replace("PIPE", str(pipe)) in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        ("analyze", "PIPE"),
        ("decode", "PIPE"),
        (*LINT, "--tools", "PIPE"),
        (*LINT, "--select", "AP306", "-o", "PIPE"),
        ("render", TEMPLATE, *QUESTION, "-o", "PIPE"),
    ],
)
def test_a_timeout_limits_the_wait_for_a_pipe(
    tmp_path: Path, use: tuple[str, ...], process: Run
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = process(*(pipe if each == "PIPE" else each for each in use), "--timeout", "0.5")
    assert (ran.code, "for 0.5 seconds" in ran.err) == (2, True), ran.err


def test_a_pipe_that_is_opened_late_is_written_and_read(tmp_path: Path, autoparser: Run) -> None:
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
def test_a_huge_file_is_refused_before_it_is_read(
    name: str, tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / name
    with source.open("wb") as file:
        file.truncate(1 << 30)
    # What is read of a file passes here; a byte would do to fail.
    monkeypatch.setattr(local_files, "decode_text", pytest.fail)
    words = f"{source}: this is larger than 64 MiB, the most that is read of a text"
    for use in (("analyze", source), ("parse", TEMPLATE, "--input", source)):
        ran = autoparser(*use)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err


@pytest.mark.slow
def test_megabytes_of_text_end_in_a_line(tmp_path: Path, autoparser: Run) -> None:
    source = tmp_path / "big.jinja"
    source.write_text("All work and no play. " * 240_000, encoding="utf-8")
    ran = autoparser("analyze", source)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_a_broken_gguf_is_called_one(tmp_path: Path, autoparser: Run) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\x03\0\0\0abc")
    ran = autoparser("lint", file, "--isolated", "--format", "json")
    assert ran.code == 2
    assert '"message": "this is a broken GGUF file: the file ends in the middle' in ran.out
    assert '"place": "byte 8"' in ran.out
