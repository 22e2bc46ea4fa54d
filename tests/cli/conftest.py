"""Running the command line in this process and in another one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.templates import worker_pool
from autoparser.cli import wings
from autoparser.cli.command_runs import isolation
from autoparser.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Ran]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]

ANALYSES: dict[object, Analysis] = {}
"""The analyses of this process, which many commands ask for: they are values."""


def shared_analysis(template: ChatTemplate, *, isolate: object = False) -> Analysis:
    """Analyze a template, once for each text that came from the same place."""
    del isolate
    origin = (template.name, template.origin, str(template.source))
    key = (type(template), template.text, *sorted(template.special_tokens.items()), *origin)
    # The behavior of an encoder does not follow from its text.
    if type(template) is not ChatTemplate:
        return analyze(template)
    if key not in ANALYSES:
        ANALYSES[key] = analyze(template)
    return ANALYSES[key]


@pytest.fixture
def autoparser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """Run the command line here, in the project's root, 80 characters wide.

    Without workers, whose output no capture of this process sees; `process` has them.
    """
    monkeypatch.chdir(ROOT)
    # Pretend that the machine has one processor: in a process with threads, such as one of
    # pytest-xdist, each worker would start a new Python.
    for module in (wings, worker_pool):
        monkeypatch.setattr(module, "usual_jobs", lambda: 1)
    monkeypatch.setattr(wings, "analyze", shared_analysis)
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def ran(*arguments: str | Path, stdin: bytes | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    token = isolation.set(False)
    yield ran
    isolation.reset(token)


def command_line(arguments: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "autoparser", *map(str, arguments)]


@pytest.fixture
def process() -> Run:
    """Run the command line in a process of its own."""

    def ran(
        *arguments: str | Path, stdin: bytes = b"", shared: Sequence[int] = (), **more: Any
    ) -> Ran:
        variables = {name: value for name, value in more.items() if name.isupper()}
        done = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
            command_line(arguments),
            input=stdin,
            pass_fds=shared,
            capture_output=True,
            cwd=more.get("cwd", ROOT),
            env={**os.environ, **variables},
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return ran


@pytest.fixture
def start() -> Start:
    """Start the command line in a process that goes on."""

    def started(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
            command_line(arguments), cwd=ROOT, text=True, **{**pipes, **options}
        )

    return started


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in a terminal of many colors, whose text is its output."""
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def ran(*arguments: str | Path) -> Ran:
        pieces: list[bytes] = []

        def keep(descriptor: int) -> bytes:
            pieces.append(os.read(descriptor, 65536))
            return pieces[-1]

        status = pty.spawn(command_line(arguments), keep)
        return Ran(os.waitstatus_to_exitcode(status), b"".join(pieces).decode(), "")

    return ran


@pytest.fixture
def fake_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a Python find made engines, and no others."""
    fakes = ROOT / "tests" / "analysis" / "engines" / "fakes"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (fakes, ROOT))))
    monkeypatch.setenv("FAKE_WITHOUT", "dying looping sleeping")
