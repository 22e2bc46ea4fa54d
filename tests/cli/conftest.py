"""Running the command line in this process and in another one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from autoparser.analysis.templates import worker_pool as isolation_engine
from autoparser.cli.isolation import isolation
from autoparser.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """What a command left after."""

    code: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Ran]


@pytest.fixture
def autoparser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line here, in the project's root, 80 characters wide.

    Without workers, whose output no capture of this process sees; `process` has them.
    """
    monkeypatch.chdir(ROOT)
    # As on a machine with one processor: a process with threads, as those of pytest-xdist are,
    # starts each worker as a new Python.
    monkeypatch.setattr(isolation_engine, "usual_jobs", lambda: 1)
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def ran(*arguments: str | Path) -> Ran:
        token = isolation.set(False)
        try:
            code = run([str(argument) for argument in arguments])
        finally:
            isolation.reset(token)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return ran


@pytest.fixture
def process() -> Run:
    """Run the command line in a process of its own."""

    def ran(
        *arguments: str | Path, stdin: bytes = b"", shared: Sequence[int] = (), **variables: str
    ) -> Ran:
        done = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
            [sys.executable, "-m", "autoparser", *map(str, arguments)],
            input=stdin,
            pass_fds=shared,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, **variables},
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return ran
