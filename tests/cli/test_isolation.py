"""Check commands in a worker: its limits, its death, and its input and output."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from .conftest import ROOT, Ran, Run, Start

pytestmark = pytest.mark.slow

GOOD = "fixtures/templates/j1-json-in-tags.jinja"
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
# One command that runs in a worker, one that is given text, one with its own workers, and one
# single render.
COMMANDS: dict[str, Sequence[str]] = {
    "analyze": (),
    "parse": ("--input", "fixtures/outputs/weather.txt"),
    "decode": ("--walks", "1"),
    "render": ("--messages", "fixtures/debugging/question.yaml"),
}

Bad = Callable[[str], Path]


@pytest.fixture
def bad(tmp_path: Path) -> Bad:
    def written(text: str) -> Path:
        path = tmp_path / "bad.jinja"
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_an_endless_template(command: str, process: Run, bad: Bad) -> None:
    source = bad(ENDLESS)
    ran = process(command, source, *COMMANDS[command], "--timeout", "1.2")
    assert (ran.code, ran.out) == (2, "")
    # The machine decides whether the limit of one render or the limit of the command is hit first.
    assert re.fullmatch(
        re.escape(f"{source}: ")
        + r"(line 1: cannot render the conversation: )?it takes more than (0\.1|1\.2) s;"
        + " if it needs more, raise the limit with --timeout\n",
        ran.err,
    ), ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_output_is_the_same_without_a_worker(command: str, process: Run) -> None:
    use = (command, GOOD, *COMMANDS[command])
    assert process(*use) == process(*use, "--no-isolation")


@pytest.fixture
def piped() -> Iterator[int]:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as stream:
        stream.write((ROOT / GOOD).read_bytes())
    yield read
    os.close(read)


def test_worker_reads_and_writes_shell_pipes_and_files(
    process: Run, piped: int, tmp_path: Path
) -> None:
    written = tmp_path / "report.txt"
    ran = process("analyze", f"/dev/fd/{piped}", "-o", written, shared=(piped,))
    assert ran == Ran(0, "", "")
    assert "47/47 test messages match" in written.read_text(encoding="utf-8")
    written.unlink()
    ran = process("analyze", "-", "-o", written, stdin=(ROOT / GOOD).read_bytes())
    assert ran == Ran(0, "", "")
    assert "47/47 test messages match" in written.read_text(encoding="utf-8")


def children(parent: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found: list[int] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, above = status.read_text().rsplit(")", 1)[1].split()[:2]
        except FileNotFoundError:
            continue
        if int(above) == parent and state != "Z":
            found.append(int(status.parent.name))
    return found


def worker_of(running: subprocess.Popen[str]) -> int:
    """Wait for the worker of a command that runs."""
    for _ in range(2000):
        found = children(running.pid)
        if found:
            return found[0]
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    raise AssertionError("there is no worker")


@pytest.fixture
def endless(bad: Bad, start: Start) -> subprocess.Popen[str]:
    """A command that runs until it is ended."""
    return start("analyze", bad(ENDLESS), "--timeout", "9999", start_new_session=True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killed_worker_is_a_one_line_error(endless: subprocess.Popen[str]) -> None:
    os.kill(worker_of(endless), signal.SIGKILL)
    out, err = endless.communicate()
    assert (endless.returncode, out) == (2, "")
    assert err.endswith(
        "bad.jinja: its worker was killed (SIGKILL), usually because memory ran out;"
        " there is no result; try again\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("heard", ["both", "parent"])
def test_interrupt_leaves_no_worker_behind(heard: str, endless: subprocess.Popen[str]) -> None:
    worker = worker_of(endless)
    time.sleep(0.5)
    if heard == "both":
        # Like a terminal.
        os.killpg(endless.pid, signal.SIGINT)
    else:
        os.kill(endless.pid, signal.SIGINT)
    out, err = endless.communicate()
    assert (endless.returncode, out, err) == (130, "", "")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
