"""Commands do their work in a worker: its limits, its death, and what goes through it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
GOOD = "fixtures/templates/j1-json-in-tags.jinja"
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
LARGE = "{{ ('x' * (messages | length * 10 ** 10)) | length }}"
LONG = "{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}"
STUCK = "{{ 7 ** (messages | length * 99999999) % 3 }}"

COMMANDS: dict[str, Sequence[str]] = {
    "analyze": (),
    "parse": ("--input", "OUTPUT"),
    "grammar": (),
    "export": ("--format", "response-template"),
    "roundtrip": (),
    "decode": ("--walks", "1"),
    "render": ("--messages", "MESSAGES"),
}


@pytest.fixture
def bad(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "bad.jinja"
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    path = tmp_path / "messages.yaml"
    path.write_text("- {role: user, content: hi}\n", encoding="utf-8")
    return path


@pytest.fixture
def call(messages: Path, process: Run, tmp_path: Path) -> Run:
    """Run a command with what it needs besides a template."""
    output = tmp_path / "output.txt"
    output.write_text("Hello.", encoding="utf-8")

    def called(command: str, source: str | Path, *options: str) -> Any:
        given = {"MESSAGES": str(messages), "OUTPUT": str(output)}
        needed = [given.get(each, each) for each in COMMANDS[command]]
        return process(command, source, *needed, *options)

    return called


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_an_endless_template(
    command: str, call: Run, bad: Callable[[str], Path]
) -> None:
    source = bad(ENDLESS)
    ran = call(command, source, "--timeout", "2.4")
    assert (ran.code, ran.out) == (2, "")
    # Whether one render's share of the time is used up first, or all of it, the machine decides.
    assert re.fullmatch(
        re.escape(f"{source}: ")
        + r"(line 1: cannot render the conversation: )?it takes more than (0\.2|2\.4) s;"
        + " if it needs more, raise the limit with --timeout\n",
        ran.err,
    ), ran.err


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (LARGE, ("--memory", "100"), "more than 100 MB of memory"),
        (LONG, ("--max-output", "1000"), "more than 1000 characters"),
        (STUCK, ("--timeout", "2.4"), "more than 0.2 s"),
    ],
    ids=["memory", "output", "stuck"],
)
def test_the_limit_that_was_hit_is_named_with_its_option(
    text: str, options: Sequence[str], words: str, call: Run, bad: Callable[[str], Path]
) -> None:
    source = bad(text)
    ran = call("analyze", source, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{source}: ")
    way_out = f"if it needs more, raise the limit with {options[0]}"
    assert ran.err.endswith(f"{words}; {way_out}\n")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--timeout", "0"), ("--memory", "1"), ("--max-output", "0")]
)
def test_limits_that_allow_nothing_are_refused(option: str, value: str, process: Run) -> None:
    ran = process("analyze", GOOD, option, value)
    assert (ran.code, ran.out) == (2, "")
    assert option in ran.err


def test_limits_without_a_worker_are_refused(process: Run) -> None:
    ran = process("analyze", GOOD, "--no-isolation", "--timeout", "3")
    assert (ran.code, ran.out) == (2, "")
    assert "leave out --timeout" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_is_the_same_as_without_a_worker(command: str, call: Run) -> None:
    assert call(command, GOOD) == call(command, GOOD, "--no-isolation")


def test_what_a_shell_hands_on_goes_to_the_worker(process: Run) -> None:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as stream:
        stream.write((ROOT / GOOD).read_bytes())
    try:
        ran = process("analyze", f"/dev/fd/{read}", "--json", shared=(read,))
    finally:
        os.close(read)
    assert (ran.code, ran.err) == (0, "")


def test_standard_input_goes_to_the_worker(process: Run) -> None:
    text = (ROOT / GOOD).read_bytes()
    ran = process("analyze", "-", "--json", stdin=text)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["check"]["passed"] == 47


def test_the_worker_writes_the_output_file(process: Run, tmp_path: Path) -> None:
    written = tmp_path / "report.txt"
    assert process("analyze", GOOD, "--output", written).code == 0
    assert "self-check 47/47" in written.read_text(encoding="utf-8")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "autoparser", "analyze", GOOD, "--json"]
    with subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(1)
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 0


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
def endless(bad: Callable[[str], Path]) -> subprocess.Popen[str]:
    """A command that is at it for as long as nobody ends it."""
    command = [
        sys.executable,
        "-m",
        "autoparser",
        "analyze",
        str(bad(ENDLESS)),
        "--timeout",
        "9999",
    ]
    return subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_is_killed_in_the_middle_is_a_line(endless: subprocess.Popen[str]) -> None:
    os.kill(worker_of(endless), signal.SIGKILL)
    out, err = endless.communicate()
    assert (endless.returncode, out) == (2, "")
    assert err.endswith(
        "bad.jinja: its worker was killed (SIGKILL), as systems do where memory runs out;"
        " there is no result; try again\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("heard", ["both", "parent"])
def test_an_interrupt_leaves_no_worker_behind(heard: str, endless: subprocess.Popen[str]) -> None:
    worker = worker_of(endless)
    time.sleep(0.5)
    if heard == "both":
        # As a terminal does.
        os.killpg(endless.pid, signal.SIGINT)
    else:
        os.kill(endless.pid, signal.SIGINT)
    out, err = endless.communicate()
    assert (endless.returncode, out, err) == (130, "", "")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_environment_and_files_of_the_parent_stay_where_they_are(
    process: Run, bad: Callable[[str], Path], messages: Path, tmp_path: Path
) -> None:
    (tmp_path / "canary.txt").write_text("canary-81d0", encoding="utf-8")
    source = bad(
        "{{ self.__class__ }}{{ environ }}{{ lipsum.environ }}{{ cycler.os }}{{ CANARY }}"
        "{{ messages }}{{ tools }}{{ namespace }}{{ raise_exception }}{{ strftime_now }}{{ dict }}"
    )
    ran = process("render", source, "--messages", messages, CANARY="canary-81d0")
    assert "canary-81d0" not in ran.out + ran.err
